//! Tables of small catalogs, read back with the reader of the library.

use std::collections::BTreeMap;
use std::io::{self, Write};

use bytes::Bytes;
use export::{
    CONTENT_KEY, ExportError, ExportTable, ExportedContent, MAX_ROW_GROUP_BYTES,
    MAX_ROW_GROUP_ROWS, TABLE_KEY, TABLES_VERSION, VERSION_KEY, write_table,
};
use fbc::Catalog;
use fbc_grammar::Digest;
use jiff::Timestamp;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use testing::fixture::{catalog, catalog_of};

/// Columns that this version of the tables must have, in this order. Columns that are added come
/// behind them; a change of these lines is a change of [`TABLES_VERSION`].
const VERSION_1: &[(&str, &str)] = &[
    (
        "packages",
        "package string, description string or null, default_channel string or null, display_name string or null, provider string or null, categories list of strings, keywords list of strings",
    ),
    (
        "channels",
        "package string, channel string, is_default boolean, head string or null",
    ),
    (
        "entries",
        "package string, channel string, ordinal int64, bundle string, has_bundle boolean, replaces string or null, skips list of strings, skip_range string or null",
    ),
    (
        "bundles",
        "package string, bundle string, ordinal int64, version string or null, release string or null, image string or null, created_at timestamp or null, min_kube_version string or null, max_openshift_version string or null",
    ),
    (
        "properties",
        "package string, channel string or null, bundle string or null, ordinal int64, property_type string, value string or null, value_bytes int64",
    ),
    (
        "images",
        "package string, bundle string, ordinal int64, name string, image string, repository string or null, tag string or null, digest string or null",
    ),
    (
        "apis",
        "package string, bundle string, ordinal int64, api_group string, api_version string, api_kind string",
    ),
    (
        "requirements",
        "package string, bundle string, ordinal int64, property_type string, required_package string or null, version_range string or null, api_group string or null, api_version string or null, api_kind string or null, label string or null, constraint_value string or null, is_malformed boolean, description string",
    ),
    (
        "deprecations",
        "package string, channel string or null, bundle string or null, message string or null",
    ),
    (
        "problems",
        "code string, severity string, occurrences int64, message string or null, package string or null, channel string or null, bundle string or null, file string or null, line int64 or null",
    ),
    (
        "contents",
        "exported_at timestamp, image string or null, packages int64, bundles int64, blobs int64, errors int64, warnings int64, bytes int64",
    ),
];

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
        exported_at: Timestamp::from_second(1_700_000_000).expect("a time"),
    }
}

fn written(table: ExportTable, catalog: &Catalog) -> Vec<u8> {
    write_table(table, &content(catalog), Vec::new()).expect("memory takes all bytes")
}

fn reader(file: Vec<u8>) -> SerializedFileReader<Bytes> {
    SerializedFileReader::new(Bytes::from(file)).expect("a Parquet file")
}

/// The rows of a table, each as one line.
fn rows(table: ExportTable, catalog: &Catalog) -> Vec<String> {
    let reader = reader(written(table, catalog));
    let rows = reader.get_row_iter(None).expect("every column is read");
    rows.map(|row| row.expect("a row").to_string()).collect()
}

/// The number of rows of each row group.
fn row_groups(file: Vec<u8>) -> Vec<i64> {
    let groups = reader(file).metadata().row_groups().to_vec();
    groups.iter().map(RowGroupMetaData::num_rows).collect()
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
    let expected = include_str!("testdata/rows.txt");
    assert!(
        text == expected,
        "tests/testdata/rows.txt differs from\n{text}"
    );
}

#[test]
fn columns_are_only_added() {
    for &(name, columns) in VERSION_1 {
        let table = ExportTable::ALL
            .iter()
            .find(|table| table.name() == name)
            .unwrap_or_else(|| panic!("the table `{name}` was removed"));
        let now = table.columns().iter().map(|column| {
            let null = if column.is_optional { " or null" } else { "" };
            format!("{} {}{null}", column.name, column.column_type)
        });
        let now = now.collect::<Vec<_>>().join(", ");
        assert!(now.starts_with(columns), "{name}\n  {now}\n  {columns}");
    }
    assert_eq!(TABLES_VERSION, "1");
}

#[test]
fn every_table_of_this_version_is_listed() {
    let listed: Vec<_> = VERSION_1.iter().map(|(name, _)| *name).collect();
    let tables: Vec<_> = ExportTable::ALL.iter().map(|table| table.name()).collect();
    assert_eq!(listed, tables);
}

#[test]
fn the_columns_of_a_file_are_those_of_its_table() {
    let catalog = catalog(EVERYTHING);
    for &table in ExportTable::ALL {
        let reader = reader(written(table, &catalog));
        let schema = reader.metadata().file_metadata().schema().clone();
        let names: Vec<_> = schema
            .get_fields()
            .iter()
            .map(|field| field.name())
            .collect();
        let expected: Vec<_> = table.columns().iter().map(|column| column.name).collect();
        assert_eq!(names, expected);
    }
}

#[test]
fn a_file_names_the_version_of_the_tables_its_table_and_its_content() {
    let catalog = catalog(EVERYTHING);
    for &table in ExportTable::ALL {
        let reader = reader(written(table, &catalog));
        let metadata = reader.metadata().file_metadata().key_value_metadata();
        let metadata: BTreeMap<_, _> = metadata
            .unwrap()
            .iter()
            .map(|pair| (pair.key.as_str(), pair.value.as_deref().unwrap()))
            .collect();
        let digest = format!("sha256:{}", "01".repeat(32));
        let expected = [
            (VERSION_KEY, TABLES_VERSION),
            (TABLE_KEY, table.name()),
            (CONTENT_KEY, &digest),
        ];
        assert_eq!(metadata, BTreeMap::from(expected));
    }
}

#[test]
fn the_same_content_becomes_the_same_bytes_at_any_time() {
    let catalog = catalog(EVERYTHING);
    for &table in ExportTable::ALL {
        let later = ExportedContent {
            exported_at: Timestamp::from_second(1_800_000_000).unwrap(),
            ..content(&catalog)
        };
        let later = write_table(table, &later, Vec::new()).unwrap();
        let is_same = later == written(table, &catalog);
        assert_eq!(is_same, table != ExportTable::Contents, "{}", table.name());
    }
}

#[test]
fn a_table_without_rows_is_a_file_without_row_groups() {
    let catalog = catalog_of("");
    for &table in ExportTable::ALL {
        let expected: &[i64] = match table {
            ExportTable::Contents | ExportTable::Problems => &[1],
            _ => &[],
        };
        assert_eq!(
            row_groups(written(table, &catalog)),
            expected,
            "{}",
            table.name()
        );
    }
}

/// A catalog with one package, whose only channel has so many entries.
fn entries(count: usize) -> Catalog {
    let entries: Vec<_> = (0..count)
        .map(|at| format!(r#"{{"name":"a.v{at}"}}"#))
        .collect();
    catalog_of(&format!(
        "{{\"name\":\"a\",\"schema\":\"olm.package\"}}\n{{\"entries\":[{}],\"name\":\"c\",\"package\":\"a\",\"schema\":\"olm.channel\"}}\n",
        entries.join(",")
    ))
}

#[test]
fn a_row_group_has_a_maximum_number_of_rows() {
    let most = i64::try_from(MAX_ROW_GROUP_ROWS).unwrap();
    let groups = |count| row_groups(written(ExportTable::Entries, &entries(count)));
    assert_eq!(groups(MAX_ROW_GROUP_ROWS), [most]);
    assert_eq!(groups(MAX_ROW_GROUP_ROWS + 1), [most, 1]);
}

#[test]
fn a_row_group_has_a_maximum_size() {
    let value = "x".repeat(MAX_ROW_GROUP_BYTES / 2);
    let property = format!(r#"{{"type":"t","value":"{value}"}}"#);
    let properties = |count: usize| {
        let properties = vec![property.as_str(); count].join(",");
        let catalog = catalog_of(&format!(
            "{{\"name\":\"a\",\"properties\":[{properties}],\"schema\":\"olm.package\"}}\n"
        ));
        row_groups(written(ExportTable::Properties, &catalog))
    };
    assert_eq!(properties(1), [1]);
    assert_eq!(properties(2), [2]);
    assert_eq!(properties(3), [2, 1]);
}

/// A writer on a full disk.
struct FullDisk;

impl Write for FullDisk {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_of_the_file() {
    let catalog = catalog(EVERYTHING);
    let error = write_table(ExportTable::Bundles, &content(&catalog), FullDisk).err();
    let Some(ExportError::Io(error)) = error else {
        panic!("not an error of the file: {error:?}");
    };
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
}
