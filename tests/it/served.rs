//! Catalogs of this repository, read once and served as they are, without a store or a socket.

use std::path::Path;

use graphql::limits::Limits;
use graphql::{Engine, Request};
use images::{Registries, RegistrySettings};
use loading::{LoadError, Source, SourceSpec, load_once};
use serde_json::Value;
use serving::{CatalogMetadata, Content, Served, catalogs};

/// The catalog of a directory of this repository, under this name and with nothing more known of
/// it.
pub(crate) fn directory(name: &str, path: &str) -> Served {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let content = read_once(&root, &std::env::temp_dir()).expect("the directory holds a catalog");
    Served::new(
        name,
        Content::new(content.catalog, content.digest),
        CatalogMetadata::default(),
    )
}

/// An engine over these catalogs.
pub(crate) fn engine(all: impl IntoIterator<Item = Served>) -> Engine {
    let (mut writer, readers) = catalogs();
    all.into_iter().for_each(|served| writer.publish(served));
    Engine::new(readers, "test", Limits::default())
}

/// The data of the answer to a document, which has no errors.
#[track_caller]
pub(crate) fn data(engine: &Engine, query: &str, variables: &Value) -> Value {
    let variables = variables.as_object().cloned();
    let answer = engine.execute(&Request {
        query: Some(query.into()),
        variables,
        ..Request::default()
    });
    let text = std::str::from_utf8(&answer.body).expect("an answer is UTF-8");
    let mut answer: Value = text.parse().expect("an answer is JSON");
    assert_eq!(answer.get("errors"), None, "{query}");
    answer["data"].take()
}

/// Loads a directory without a store that outlives its content.
pub(crate) fn read_once(root: &Path, folder: &Path) -> Result<Content, LoadError> {
    let registries = Registries::new(RegistrySettings::default()).expect("nothing is set");
    let spec = SourceSpec::once(Source::Directory(root.to_owned()), registries);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    runtime.block_on(load_once(&spec, folder, |_, _, _| ()))
}
