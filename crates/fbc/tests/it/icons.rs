//! Which packages have an icon, of which type, and where it is found.

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use fbc::{Catalog, FoundIcon, Icon};
use fbc_grammar::Digest;
use serde_json::{Value, json};
use testing::fixture;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n...";

/// The catalog of packages `a0`, `a1`, … with these icons.
fn catalog(icons: &[Value]) -> Catalog {
    let line = |(at, icon): (usize, &Value)| {
        format!(
            "{}\n",
            json!({"description": "icon", "icon": icon, "name": format!("a{at}"), "schema": "olm.package"})
        )
    };
    fixture::catalog_of(&icons.iter().enumerate().map(line).collect::<String>())
}

fn icon(media_type: &str, image: &[u8]) -> Value {
    json!({"base64data": BASE64_STANDARD.encode(image), "mediatype": media_type})
}

/// The type of this image, whatever is declared.
fn type_of(image: &[u8]) -> Option<&'static str> {
    let types = ["image/png", "image/svg+xml", "text/html", ""].map(|declared| {
        let catalog = catalog(&[icon(declared, image)]);
        catalog.package_at(0).icon().map(Icon::media_type)
    });
    assert!(
        types.iter().all(|of| *of == types[0]),
        "what is declared does not count"
    );
    types[0]
}

#[test]
fn an_icon_is_of_the_type_that_its_bytes_have() {
    let images: [(&[u8], &str); 8] = [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0..", "image/jpeg"),
        (b"GIF87a..", "image/gif"),
        (b"GIF89a..", "image/gif"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"\0\0\0\x20ftypavif\0\0", "image/avif"),
        (b"\0\0\0\x20ftypavis\0\0", "image/avif"),
        (b"\0\0\x01\0\x03\0", "image/x-icon"),
    ];
    for (image, expected) in images {
        assert_eq!(type_of(image), Some(expected), "{}", image.escape_ascii());
    }
}

#[test]
fn xml_with_the_root_svg_is_an_icon_whatever_comes_before_and_is_in_it() {
    for image in [
        "<svg/>",
        "<svg>",
        "\u{feff}\n <svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>",
        "<?xml version=\"1.0\"?>\n<!-- a <svg> > -->\n<svg\n>",
        "<!-- a --><!-- b --><?a b?><s:svg xmlns:s=\"http://www.w3.org/2000/svg\"/>",
        "<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" \"http://www.w3.org/a>b.dtd\"><svg />",
        "<!DOCTYPE svg [\n<!ENTITY a \"]>\">\n<!-- it's > -->\n]>\n<svg>&a;</svg>",
    ] {
        assert_eq!(type_of(image.as_bytes()), Some("image/svg+xml"), "{image}");
    }
}

#[test]
fn what_is_no_image_of_a_known_type_is_no_icon() {
    for image in [
        "",
        " ",
        "text",
        "<html><svg/></html>",
        "<!DOCTYPE html><html></html>",
        "<svgs/>",
        "<SVG/>",
        "<svg",
        "<!-- <svg/>",
        "<!DOCTYPE svg [ <svg/>",
        "<?xml version=\"1.0\"?>",
        "svg",
        "GIF88a",
        "RIFF....WAVE",
        "\0\0\0 ftypmp42",
        "%PDF-1.4",
        "BM",
    ] {
        assert_eq!(type_of(image.as_bytes()), None, "{image:?}");
    }
}

#[test]
fn an_icon_that_is_malformed_is_none() {
    let png = BASE64_STANDARD.encode(PNG);
    let none = [
        json!({}),
        json!(null),
        json!("x"),
        json!([]),
        json!({"mediatype": "image/png"}),
        json!({"base64data": "", "mediatype": "image/png"}),
        json!({"base64data": null}),
        json!({"base64data": 1}),
        json!({"base64data": {}}),
        json!({"base64data": [256]}),
        json!({"base64data": "%%%"}),
        json!({"base64data": png.trim_end_matches('=')}),
    ];
    let catalog = catalog(&none);
    for (package, icon) in catalog.packages().zip(&none) {
        assert!(package.icon().is_none(), "{icon}");
    }
    assert!(fixture::catalog("package a").package_at(0).icon().is_none());
}

#[test]
fn an_icon_is_read_as_upstream_reads_it_and_given_as_standard_base64() {
    let standard = BASE64_STANDARD.encode(PNG);
    assert!(
        standard.ends_with("4="),
        "it has bits left over: {standard}"
    );
    let with_bits = format!("{}5=", standard.trim_end_matches("4="));
    let (head, tail) = standard.split_at(5);
    let catalog = catalog(&[
        json!({"base64data": standard}),
        json!({"base64data": format!("{head}\r\n{tail}\n")}),
        json!({"base64data": with_bits}),
        json!({"base64data": PNG}),
        json!({"BASE64DATA": standard}),
    ]);
    for package in catalog.packages() {
        let icon = package.icon().unwrap();
        assert_eq!(
            (icon.data().as_ref(), icon.bytes().as_slice()),
            (standard.as_str(), PNG),
            "{}",
            package.name()
        );
        assert_eq!(
            icon.digest(),
            catalog.package_at(0).icon().unwrap().digest()
        );
    }
}

#[test]
fn icons_are_found_by_their_digest_also_when_their_catalog_is_gone() {
    let svg = b"<svg/>";
    let catalog = catalog(&[
        icon("image/png", PNG),
        icon("", svg),
        icon("image/png", b"text"),
        icon("image/gif", PNG),
    ]);
    let digests: Vec<_> = catalog
        .packages()
        .map(|package| package.icon().map(Icon::digest))
        .collect();
    let of_png =
        Digest::parse("sha256:8bb4a8c6a1472a364d010c42e6f8fdf20276a5c18d7d27f80f10e3413bcaf02e");
    let of_svg =
        Digest::parse("sha256:d4dc56669143034f31aa309635d4113d9ad76a02b1739da22c965ed2049be9e6");
    assert_eq!(digests, [of_png, of_svg, None, of_png]);
    let icons = std::sync::Arc::clone(catalog.icons());
    drop(catalog);
    let found = icons.find(&digests[0].unwrap()).unwrap();
    assert_eq!(
        found,
        FoundIcon {
            media_type: "image/png",
            bytes: Bytes::from_static(PNG)
        }
    );
    let found = icons.find(&digests[1].unwrap()).unwrap();
    assert_eq!(
        found,
        FoundIcon {
            media_type: "image/svg+xml",
            bytes: Bytes::from_static(svg)
        }
    );
    assert_eq!(icons.find(&Digest::new([0; 32])), None);
}
