//! A server of the dialect over catalogs that tests give it.

use std::collections::BTreeMap;
use std::sync::Arc;

use alpha_graphql::{AlphaGraphql, AlphaMetrics};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, Uri};
use axum::response::Response;
use fbc::Catalog;
use fbc_grammar::Digest;
use fbc_read::Origins;
use graphql::Engine;
use graphql::limits::Limits;
use serde_json::{Value, json};
use serving::{CatalogMetadata, Catalogs, CatalogsWriter, Content, Served, Visibility, catalogs};
use sha2::{Digest as _, Sha256};
use tower::ServiceExt as _;

pub(crate) struct Server {
    pub(crate) writer: CatalogsWriter,
    pub(crate) alpha: AlphaGraphql,
    router: Router,
    catalogs: Catalogs,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let (writer, reader) = catalogs();
        let engine = Arc::new(Engine::new(reader.clone(), "test", limits));
        let alpha = AlphaGraphql::new(engine, reader.clone(), name_of);
        Self {
            writer,
            router: alpha.router(),
            alpha,
            catalogs: reader,
        }
    }

    /// Lets requests see these catalogs only.
    pub(crate) fn show_only(&mut self, names: impl IntoIterator<Item = String>) {
        let narrowed = self.catalogs.visible(Visibility::only(names));
        self.router = self.alpha.router().layer(axum::Extension(narrowed));
    }

    pub(crate) fn metrics(&self) -> Arc<AlphaMetrics> {
        self.alpha.metrics()
    }

    /// Serves a catalog of files.
    pub(crate) fn publish(&mut self, name: &str, files: &BTreeMap<String, Vec<u8>>) {
        let mut lines = Vec::new();
        let files = files
            .iter()
            .filter(|(path, _)| !path.ends_with(".indexignore"));
        let origins = files
            .map(|(path, file)| testing::fixture::read_file(path, file, &mut lines))
            .collect();
        let catalog = Catalog::build(
            lines.into(),
            &Origins {
                files: origins,
                ..Origins::default()
            },
        )
        .unwrap();
        let digest = Digest::new(Sha256::digest(catalog.content()).into());
        self.writer.publish(Served::new(
            name,
            Content::new(catalog, digest),
            CatalogMetadata::default(),
        ));
    }

    /// Serves a catalog of one file.
    pub(crate) fn publish_text(&mut self, name: &str, text: &str) {
        self.publish(
            name,
            &BTreeMap::from([("x.json".to_owned(), text.as_bytes().to_vec())]),
        );
    }

    pub(crate) async fn post(&self, catalog: &str, body: &str) -> Answer {
        let request = Request::post(format!("/catalogs/{catalog}/api/v1/graphql"))
            .body(Body::from(body.to_owned()));
        let response = self.router.clone().oneshot(request.unwrap()).await.unwrap();
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        Answer {
            status,
            headers,
            text: String::from_utf8(body.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn ask(&self, catalog: &str, query: &str) -> Value {
        self.post(catalog, &json!({ "query": query }).to_string())
            .await
            .json()
    }

    /// The message of the first error of a query.
    pub(crate) async fn error(&self, catalog: &str, query: &str) -> String {
        let answer = self.ask(catalog, query).await;
        assert_eq!(answer["data"], Value::Null, "{answer:.500}");
        answer["errors"][0]["message"].as_str().unwrap().to_owned()
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("{} {}", self.status, self.text))
    }
}

#[expect(
    clippy::result_large_err,
    clippy::unnecessary_wraps,
    reason = "the type of `ParseName`"
)]
fn name_of(uri: &Uri) -> Result<String, Response> {
    Ok(uri.path().split('/').nth(2).unwrap().to_owned())
}
