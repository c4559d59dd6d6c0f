//! Which bytes of files change with a content, and which files are new or go.

use super::*;
use crate::batch::apply;
use crate::operation::{Operation, PackageFields};

fn set_default(package: &str, channel: &str) -> Operation<crate::bundle::RenderedBundle> {
    let package = package.to_owned();
    let default_channel = Some(channel.to_owned());
    Operation::SetPackage(PackageFields {
        package,
        default_channel,
        ..PackageFields::default()
    })
}

/// Finds the changes of files that can be read.
fn changes_of(
    files: &[SourceFile],
    from: &CatalogBlobs,
    to: &CatalogBlobs,
    read: impl Fn(&str) -> Vec<u8>,
) -> Vec<FileChange> {
    changes::<ChangeError>(files, from, to, |path| Ok(read(path))).unwrap()
}

const YAML: &str = "# Header.\n---\n# About a.\nschema: olm.package\nname: a   # Name.\ndefaultChannel: x\n\n# End.\n---\n\
    package: a\nname: 'y'\nschema: olm.channel\nentries: [{name: a.v1}]\n---\nschema: olm.channel\npackage: a\nname: x\n\
    entries:\n- name: a.v1\n---\n{schema: olm.bundle, package: a, name: a.v1, image: i, properties: [{type: olm.package, \
    value: {packageName: a, version: 1.0.0}}]}\n";

#[test]
fn unchanged_blobs_keep_their_bytes() {
    let files = [SourceFile::read("a.yaml", YAML.as_bytes()).unwrap()];
    let from = catalog(&files);
    let to = apply(&from, &[set_default("a", "y")]).unwrap();
    let [change] = &changes_of(&files, &from, &to, |_| YAML.into())[..] else {
        panic!("one file")
    };
    let after = String::from_utf8(change.after.clone().unwrap()).unwrap();
    let former = "schema: olm.package\nname: a   # Name.\ndefaultChannel: x\n";
    assert_eq!(
        after,
        YAML.replace(
            former,
            "defaultChannel: \"y\"\nname: a\nschema: olm.package\n"
        )
    );
    assert_eq!(changes_of(&files, &from, &from, |_| YAML.into()), []);
}

#[test]
fn a_blob_that_is_one_line_of_json_stays_one() {
    let text = "{\"schema\":\"olm.package\",\"name\":\"a\"} {\n \"schema\": \"x\", \"package\":\"a\"}\n{\"schema\":\"y\"}";
    let file = SourceFile::read("a.json", text.as_bytes()).unwrap();
    let blob = BlobValue::object([("schema", BlobValue::text("z"))]);
    let with = |index: usize, blob: Option<&BlobValue>| {
        let changes = BlobChanges {
            changed: [(index, blob.cloned())].into(),
            added: Vec::new(),
        };
        String::from_utf8(file.change(text.into(), &changes).unwrap().after.unwrap()).unwrap()
    };
    assert_eq!(
        with(2, Some(&blob)),
        text.replace("{\"schema\":\"y\"}", "{\"schema\":\"z\"}")
    );
    let package = BlobValue::object([
        ("name", BlobValue::text("b")),
        ("schema", BlobValue::text("olm.package")),
    ]);
    assert_eq!(
        with(0, Some(&package)),
        text.replace("\"a\"} {", "\"b\"} {"),
        "in the order of opm"
    );
    assert_eq!(
        with(1, Some(&blob))
            .matches("{\n    \"schema\": \"z\"\n}\n")
            .count(),
        1
    );
    assert_eq!(
        with(1, None),
        "{\"schema\":\"olm.package\",\"name\":\"a\"} {\"schema\":\"y\"}"
    );
}

#[test]
fn a_file_that_has_other_blobs_than_when_it_was_read_is_left_alone() {
    let files = [SourceFile::read("a.yaml", YAML.as_bytes()).unwrap()];
    let from = catalog(&files);
    let to = apply(&from, &[set_default("a", "y")]).unwrap();
    for bytes in [YAML.replace("a.v1", "a.v2"), "schema: [".to_owned()] {
        let changed = changes(&files, &from, &to, |_| {
            Ok::<_, ChangeError>(bytes.clone().into_bytes())
        });
        assert!(matches!(changed, Err(ChangeError::Conflict(path)) if path == "a.yaml"));
    }
    // An error of `read` is passed on.
    let unread = || ChangeError::Conflict("unread".to_owned());
    let error = changes(&files, &from, &to, |_| Err(unread())).unwrap_err();
    assert_eq!(error.to_string(), unread().to_string());
}

#[test]
fn a_file_without_blobs_is_removed_and_a_new_package_gets_its_own() {
    let files = [SourceFile::read("a.yaml", YAML.as_bytes()).unwrap()];
    let from = catalog(&files);
    let remove = Operation::Rm(crate::operation::Packages {
        packages: vec!["a".to_owned()],
        ..Default::default()
    });
    let to = apply(&from, &[remove]).unwrap();
    let removed = FileChange {
        path: "a.yaml".to_owned(),
        before: Some(YAML.into()),
        after: None,
    };
    assert_eq!(changes_of(&files, &from, &to, |_| YAML.into()), [removed]);
    assert!(path_of_package("../a", FileFormat::Yaml).is_err());
    assert_eq!(
        path_of_package("b", FileFormat::Json).unwrap(),
        "b/catalog.json"
    );
}

#[test]
fn a_new_package_goes_to_the_file_of_its_name_whatever_that_has() {
    let other = "schema: olm.package\nname: quay-operator\ndefaultChannel: x\n";
    let texts = [
        ("a.yaml", YAML),
        ("empty/catalog.yaml", ""),
        ("quay/catalog.yaml", other),
    ];
    let files = texts.map(|(path, text)| SourceFile::read(path, text.as_bytes()).unwrap());
    let from = catalog(&files);
    let mut draft = crate::draft::CatalogDraft::new(&from, crate::EditLimits::NONE);
    for package in ["empty", "new", "quay"] {
        let fields = PackageFields {
            package: package.to_owned(),
            ..PackageFields::default()
        };
        crate::package::create_package(&mut draft, &fields).unwrap();
    }
    let to = draft.finish();
    let read = |path: &str| {
        let text = texts.iter().find(|(other, _)| *other == path);
        text.unwrap().1.into()
    };
    let change = |path: &str, before: Option<&str>, after: &str| {
        let path = path.to_owned();
        let before = before.map(Into::into);
        let after = Some(after.into());
        FileChange {
            path,
            before,
            after,
        }
    };
    let blob = |name: &str| format!("---\nname: {name}\nschema: olm.package\n");
    let expected = [
        change("new/catalog.yaml", None, &blob("new")),
        change("empty/catalog.yaml", Some(""), &blob("empty")),
        change(
            "quay/catalog.yaml",
            Some(other),
            &(other.to_owned() + &blob("quay")),
        ),
    ];
    assert_eq!(changes_of(&files, &from, &to, read), expected);
}
