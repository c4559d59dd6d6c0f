//! Tables of small catalogs, read back with the reader of the library.

use std::collections::BTreeMap;
use std::io::{self, Write};

use bytes::Bytes;
use export::{
    CONTENT_KEY, ColumnType, ExportError, ExportTable, ExportedContent, MAX_ROW_GROUP_BYTES,
    MAX_ROW_GROUP_ROWS, TABLE_KEY, TABLES_VERSION, VERSION_KEY, write_table,
};
use fbc::Catalog;
use fbc_grammar::Digest;
use jiff::Timestamp;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use testing::fixture::{catalog, catalog_of, lines};

/// A catalog with a row of each table.
const EVERYTHING: &str = r#"
    package etcd default=stable
    channel stable: v0.9.0 <- v0.9.2 <- v0.9.4 skips=v0.9.1 range=">=0.9.0 <0.9.4"
    channel alpha: v0.9.4 , v1.0.0?
    bundle v0.9.4 provides=etcd.io/v1/Etcd needs=vault@>=1.0.0 display="etcd" provider="CNCF" keywords=store,database categories=Database
    deprecated package "use another one"
    deprecated channel alpha "use stable"
    deprecated bundle v0.9.0 "too old"
    {"schema":"olm.package","name":"vault","defaultChannel":"none","description":"Keeps secrets.","properties":[{"type":"example","value":[1,"a"]}]}
    {"schema":"olm.channel","name":"c","package":"vault","entries":[{"name":"vault.v1"}],"properties":[{"type":"of-channel","value":null}]}
    {"schema":"olm.bundle","name":"vault.v1","package":"vault","image":"vault@sha256:0000000000000000000000000000000000000000000000000000000000000001","properties":[{"type":"olm.package","value":{"packageName":"vault","version":"1.0.0+b"}},{"type":"olm.gvk.required","value":{"group":"etcd.io","version":"v1","kind":"Etcd"}},{"type":"olm.label.required","value":{"label":"old"}},{"type":"olm.constraint","value":{"cel":{"rule":"true"},"failureMessage":"no"}},{"type":"olm.constraint","value":{}},{"type":"olm.bundle.object","value":{"data":"e30="}},{"type":"olm.maxOpenShiftVersion","value":"4.18"},{"type":"olm.csv.metadata","value":{"annotations":{"createdAt":"2024-01-02T03:04:05Z"},"minKubeVersion":"1.20.0"}}],"relatedImages":[{"name":"","image":"vault"},{"name":"side","image":"quay.io/a/b:1@sha256:0000000000000000000000000000000000000000000000000000000000000002"},{"name":"bad","image":"A B"}]}"#;

fn content(catalog: &Catalog) -> ExportedContent<'_> {
    ExportedContent {
        catalog,
        digest: Digest::new([1; 32]),
        image: Some("quay.io/a/catalog@sha256:1"),
        exported_at: Timestamp::from_second(1_700_000_000).unwrap(),
    }
}

fn written(table: ExportTable, catalog: &Catalog) -> Vec<u8> {
    write_table(table, &content(catalog), Vec::new()).unwrap()
}

fn reader(file: Vec<u8>) -> SerializedFileReader<Bytes> {
    SerializedFileReader::new(Bytes::from(file)).unwrap()
}

/// The rows of a table, each as one line.
fn rows(table: ExportTable, catalog: &Catalog) -> Vec<String> {
    let reader = reader(written(table, catalog));
    reader
        .get_row_iter(None)
        .unwrap()
        .map(|row| row.unwrap().to_string())
        .collect()
}

#[test]
fn each_object_of_a_catalog_is_a_row_of_its_table() {
    let catalog = catalog(EVERYTHING);
    let mut text = String::new();
    for &table in ExportTable::ALL {
        text.push_str(table.name());
        for row in rows(table, &catalog) {
            text.push_str("\n  ");
            text.push_str(&row);
        }
        text.push('\n');
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/testdata/rows.txt");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap();
    assert_eq!(text, expected, "run UPDATE_EXPECT=1 cargo test -p export");
}
