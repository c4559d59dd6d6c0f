//! Contents that are replaced while clients read them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use bytes::Bytes;
use catalogd_http::router;
use fbc::Catalog;
use fbc_grammar::Digest;
use fbc_read::origin::{FileOrigin, Origins};
use flate2::read::GzDecoder;
use http_content::coding::{Coding, CompressionLevel};
use http_server::{ListenOptions, Listener};
use serving::{CatalogMetadata, CatalogsWriter, Encodings, Served, catalogs};
use sha2::{Digest as _, Sha256};

use crate::support::send_request;

/// How often the content is replaced.
const SWAPS: usize = 200;

/// Larger than what a socket takes at once.
const CONTENT_BYTES: usize = 1024 * 1024;

/// How many contents take turns.
const CONTENTS: usize = 8;

/// A content with its digest and its compressed forms.
type Content = (Arc<Catalog>, Digest, Arc<Encodings>);

/// A content that says its number in each blob.
fn content(number: usize) -> Content {
    let line = format!("{{\"name\":\"p{number}\",\"package\":\"p\",\"schema\":\"olm.channel\"}}\n");
    let content = Bytes::from(line.repeat(CONTENT_BYTES / line.len()));
    let count = u32::try_from(CONTENT_BYTES / line.len()).unwrap();
    let file = FileOrigin {
        path: "c.json".into(),
        lines: (1..=count).collect(),
        ..FileOrigin::default()
    };
    let encodings = Encodings::default();
    // Every other content has a compressed form from the start.
    if number.is_multiple_of(2) {
        let mut gzip = Vec::new();
        Coding::Gzip
            .compress(&content, CompressionLevel::Fast, &mut gzip)
            .unwrap();
        encodings.set(Coding::Gzip, gzip.into());
    }
    let digest = Digest::new(Sha256::digest(&content).into());
    let catalog = Catalog::build(
        content,
        &Origins {
            files: vec![file],
            ..Origins::default()
        },
    )
    .unwrap();
    (Arc::new(catalog), digest, Arc::new(encodings))
}

fn publish(writer: &mut CatalogsWriter, (catalog, digest, encodings): Content) {
    let metadata = CatalogMetadata::default();
    let content = serving::Content {
        encodings,
        ..serving::Content::new(catalog, digest)
    };
    writer.publish(Served::new("c", content, metadata));
}

#[test]
fn every_body_is_whole_and_of_one_content_while_contents_are_replaced() {
    let (mut writer, catalogs) = catalogs();
    let contents: Vec<_> = (0..CONTENTS).map(content).collect();
    publish(&mut writer, contents[0].clone());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let listener = runtime.block_on(Listener::bind("127.0.0.1:0")).unwrap();
    let address = listener.address();
    runtime.spawn(listener.serve(
        router(catalogs, "test", None),
        ListenOptions::default(),
        std::future::pending(),
    ));
    // Each answer is taken by one swap, while the other clients read.
    let (answered, answers) = sync_channel(0);
    let clients = (0..4).map(|client| {
        let answered = answered.clone();
        thread::spawn(move || {
            let codings: &[(&str, &str)] = if client % 2 == 0 {
                &[]
            } else {
                &[("Accept-Encoding", "gzip")]
            };
            let target = if client < 2 {
                "/catalogs/c/api/v1/all"
            } else {
                "/catalogs/c/api/v1/metas?package=p"
            };
            loop {
                let answer = send_request(address, "GET", target, codings);
                assert_eq!(answer.status, 200);
                let coding = answer.header("content-encoding");
                let mut body = answer.body.clone();
                if coding.is_some() {
                    body.clear();
                    std::io::copy(&mut GzDecoder::new(&*answer.body), &mut body).unwrap();
                }
                let first = body
                    .split_inclusive(|byte| *byte == b'\n')
                    .next()
                    .unwrap()
                    .to_vec();
                assert_eq!(body.len(), CONTENT_BYTES / first.len() * first.len());
                assert!(
                    body.chunks(first.len()).all(|line| line == first),
                    "two contents in one answer"
                );
                if client < 2 {
                    let end = if coding.is_some() { "-gzip" } else { "" };
                    let digest = Digest::new(Sha256::digest(&body).into()).hex();
                    assert_eq!(answer.header("etag"), Some(format!("\"{digest}{end}\"")));
                }
                if answered.send((client, first)).is_err() {
                    return;
                }
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    drop(answered);
    let mut seen = BTreeSet::new();
    for number in 1..=SWAPS {
        publish(&mut writer, contents[number % CONTENTS].clone());
        seen.insert(answers.recv().expect("no client has failed"));
    }
    drop(answers);
    for client in clients {
        client.join().unwrap();
    }
    let seen: BTreeSet<_> = seen.into_iter().map(|(_, content)| content).collect();
    assert_eq!(seen.len(), CONTENTS, "clients saw every content");
}
