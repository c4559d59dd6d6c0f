//! The views of the main listener: GraphQL, catalogd's APIs, the pages, and `/version`.

use std::sync::Arc;

use ::metrics::Label as _;
use alpha_graphql::AlphaGraphql;
use anyhow::Context;
use axum::Router;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::middleware::from_fn_with_state;
use axum::response::IntoResponse;
use axum::routing::get;
use build_info::{ANSWERS_BUILD, BuildInfo};
use bundle_images::BundleImages;
use feeds_http::FeedSettings;
use graphql::limits::Limits;
use graphql::metrics::{OperationKind, RequestResult};
use graphql::{Engine, ServerInfo};
use graphql_http::{GraphqlHttp, GraphqlHttpSettings, TransportMetrics};
use http_server::{ServerReadiness, add_span_attributes, cors};
use loading::Refresher;
use pages::Pages;
use serving::{Catalogs, ReadBarrier, Visibility};

use super::assistants;
use super::manifests::ImageManifests;
use crate::access::{self, AccessControl};
use crate::args::{DocumentArgs, LimitArgs, ServerArgs};
use crate::minimum_revisions::{self, MinimumRevisions};
use crate::shared_caches::SharedCaches;

/// Parts that the views are built from.
pub(super) struct ViewParts<'a> {
    pub(super) args: &'a ServerArgs,
    pub(super) documents: &'a DocumentArgs,
    pub(super) limits: &'a LimitArgs,
    pub(super) catalogs: Catalogs,
    /// Decides which catalogs callers see; `None` shows every catalog to everybody.
    pub(super) guard: Option<AccessControl>,
    /// Adds the outcomes of GraphQL requests to spans.
    pub(super) is_traced: bool,
    /// Fetches manifests that catalogs do not have; `None` fetches none.
    pub(super) bundle_images: Option<BundleImages>,
    /// Loads the source of a catalog of which a client has seen a content that is unknown here.
    pub(super) refresher: Refresher,
    /// Lets reads of whole catalogs wait for the status in the cluster.
    pub(super) read_barrier: Option<ReadBarrier>,
    /// Readiness of the server, for shared caches.
    pub(super) ready: ServerReadiness,
}

/// The views of the main listener.
pub(super) struct Views {
    pub(super) engine: Arc<Engine>,
    /// GraphQL streams, and responses in flight.
    pub(super) transport: TransportMetrics,
    /// catalogd's alpha GraphQL, if it is served.
    pub(super) alpha: Option<AlphaGraphql>,
    pub(super) pages: Pages,
    pub(super) routes: Router,
}

impl Views {
    pub(super) fn new(parts: ViewParts<'_>) -> anyhow::Result<Self> {
        let ViewParts {
            args,
            documents,
            limits,
            catalogs,
            guard,
            is_traced,
            bundle_images,
            refresher,
            read_barrier,
            ready,
        } = parts;
        // With a guard, views see nothing by themselves: a route that the guard does not know shows
        // no catalog.
        let reader = if guard.is_some() {
            catalogs.visible(Visibility::none())
        } else {
            catalogs
        };
        let pages = args.pages.pages(documents);
        let mut engine = engine(reader.clone(), documents, limits, pages)?;
        if args.assistants.mcp && documents.trusted_only {
            assistants::trust_documents(&mut engine)?;
        }
        if is_traced {
            engine.observe_results(add_outcome_to_span);
        }
        if let Some(images) = bundle_images {
            engine.set_bundle_manifests(Arc::new(ImageManifests(images)));
        }
        let engine = Arc::new(engine);
        let shared_caches = SharedCaches::new(args.shared_cache_max_age, ready);
        // Responses that depend on the rights of a caller are in no shared cache.
        let has_surrogate_keys = shared_caches.is_some() && guard.is_none();
        let settings = GraphqlHttpSettings {
            origins: args.cors_origin.clone(),
            has_surrogate_keys,
        };
        let graphql = GraphqlHttp::new(Arc::clone(&engine), settings);
        // No document of catalogd's dialect can be trusted.
        let is_alpha_served = !args.no_alpha_graphql && !documents.trusted_only;
        let alpha = is_alpha_served.then(|| {
            AlphaGraphql::new(
                Arc::clone(&engine),
                reader.clone(),
                catalogd_http::parse_catalog,
            )
        });
        let revisions = MinimumRevisions::new(reader.clone(), refresher, read_barrier.clone());
        let routes = routes(
            &graphql,
            alpha.as_ref(),
            reader,
            read_barrier,
            FeedSettings {
                has_surrogate_keys,
                has_explorer: pages.has_explorer(),
            },
        );
        let routes = if args.assistants.mcp {
            routes.merge(assistants::router(&engine, &args.cors_origin)?)
        } else {
            routes
        };
        // Within the guard, which inserts the catalogs that the caller may see.
        let routes = minimum_revisions::layer(routes, revisions);
        let routes = match guard {
            Some(guard) => access::guard(routes, guard),
            None => routes,
        };
        // Without the layer, responses need not vary by origin.
        let routes = if args.cors_origin.is_empty() {
            routes
        } else {
            routes.layer(cors(&args.cors_origin))
        };
        let routes = match shared_caches {
            Some(caches) => routes.layer(from_fn_with_state(caches, SharedCaches::run)),
            None => routes,
        };
        Ok(Self {
            transport: graphql.metrics(),
            routes: routes.merge(pages.router()),
            engine,
            alpha,
            pages,
        })
    }
}

/// Returns the routes of all views but the pages. They show the catalogs of `reader`, unless a guard
/// inserts those that the caller may see.
fn routes(
    graphql: &GraphqlHttp,
    alpha: Option<&AlphaGraphql>,
    reader: Catalogs,
    read_barrier: Option<ReadBarrier>,
    feeds: FeedSettings,
) -> Router {
    let has_surrogate_keys = feeds.has_surrogate_keys;
    let renovate = renovate_http::router(reader.clone(), ANSWERS_BUILD, has_surrogate_keys);
    let feeds = feeds_http::router(reader.clone(), ANSWERS_BUILD, feeds);
    let catalogd = catalogd_http::router(reader, ANSWERS_BUILD, read_barrier);
    graphql
        .router()
        .merge(renovate)
        .merge(feeds)
        .merge(catalogd)
        .merge(alpha.map(AlphaGraphql::router).unwrap_or_default())
        .route("/version", get(version_response))
}

/// Creates the GraphQL engine with its trusted documents.
fn engine(
    catalogs: Catalogs,
    documents: &DocumentArgs,
    limits: &LimitArgs,
    pages: Pages,
) -> anyhow::Result<Engine> {
    let limits = Limits {
        introspection: documents.introspection(),
        ..limits.limits()
    };
    let mut engine = Engine::new(catalogs, ANSWERS_BUILD, limits);
    for file in &documents.files {
        let json = std::fs::read_to_string(file);
        let file = file.display();
        let json = json.with_context(|| format!("cannot read `{file}`"))?;
        let count = engine
            .trust(&json)
            .with_context(|| format!("cannot trust the documents of `{file}`"))?;
        tracing::info!(%file, count, "trusting documents");
    }
    if documents.trusted_only && pages.has_explorer() {
        // Limits that the explorer's documents exceed do not prevent the start: the other documents
        // are what they are set for.
        if let Err(error) = engine.trust(pages::explorer_documents()) {
            tracing::warn!(%error, "cannot trust the documents of the explorer: turn it off with --no-explorer");
        }
    }
    engine.set_policy(documents.policy());
    let build = BuildInfo::of_this_program();
    engine.set_server(ServerInfo {
        version: build.version.to_owned(),
        commit: build.commit.map(ToOwned::to_owned),
        // From `/graphql`, also below a path prefix.
        playground_url: pages.has_playground().then(|| "playground/".to_owned()),
    });
    Ok(engine)
}

/// Adds the outcome of a GraphQL request to the span of the request that executes it.
fn add_outcome_to_span(kind: OperationKind, result: RequestResult) {
    add_span_attributes([
        ("graphql.operation.type", kind.as_str()),
        ("catalogql.graphql.outcome", result.as_str()),
    ]);
}

/// Responds with the build of the program, as `catalogql version -o json` prints it.
async fn version_response() -> impl IntoResponse {
    let body =
        serde_json::to_string(&BuildInfo::of_this_program()).expect("names and numbers are JSON");
    (
        [
            (CONTENT_TYPE, "application/json"),
            (CACHE_CONTROL, "no-cache"),
        ],
        body,
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use axum::body::{Body, to_bytes};
    use axum::http::{Request, header};
    use hyper::service::Service as _;
    use hyper_util::service::TowerToHyperService;
    use serde_json::Value;
    use serving::{CatalogMetadata, Content, Served, catalogs};

    use super::*;

    #[tokio::test]
    async fn no_route_shows_a_catalog_without_the_reader_of_its_caller() {
        let (mut writer, catalogs) = catalogs();
        let content =
            testing::fixture::catalog("package concealed default=stable\nchannel stable: v1.0.0");
        let content = Content::new(content, fbc_grammar::Digest::new([1; 32]));
        writer.publish(Served::new("secret", content, CatalogMetadata::default()));
        let body = async |reader: &Catalogs, path: &str, accept: &'static str| {
            let engine = Arc::new(Engine::new(reader.clone(), "test", Limits::default()));
            let graphql = GraphqlHttp::new(Arc::clone(&engine), GraphqlHttpSettings::default());
            let alpha = AlphaGraphql::new(engine, reader.clone(), catalogd_http::parse_catalog);
            let service = TowerToHyperService::new(routes(
                &graphql,
                Some(&alpha),
                reader.clone(),
                None,
                FeedSettings::default(),
            ));
            let request = Request::builder().uri(path).header(header::ACCEPT, accept);
            let request = if path.ends_with("/v1/graphql") {
                request
                    .method("POST")
                    .body(r#"{"query":"{olmpackages{name}}"}"#.into())
            } else {
                request.body(Body::empty())
            };
            let request = request.unwrap();
            let body = to_bytes(service.call(request).await.unwrap().into_body(), usize::MAX)
                .await
                .unwrap();
            String::from_utf8_lossy(&body).into_owned()
        };
        let graphql = "/graphql?query=%7Bcatalogs%7Bname%7DcatalogStatuses%7Bname%7Dpackages%7Bnodes%7Bname%7D%7D%7D";
        let mut shown = Vec::new();
        let paths = catalogd_http::routes()
            .into_iter()
            .chain(renovate_http::routes().map(str::to_owned))
            .chain(feeds_http::routes().map(str::to_owned))
            .chain([graphql, alpha_graphql::PATH, "/schema.graphql", "/version"].map(String::from));
        for path in paths {
            let path = path
                .replace("{catalog}", "secret")
                .replace("{package}", "concealed")
                .replace("{digest}", &"0".repeat(64));
            for accept in ["*/*", "text/event-stream"] {
                let hidden = body(&catalogs.visible(Visibility::none()), &path, accept).await;
                assert!(
                    !hidden.contains("concealed") && !hidden.contains("\"secret\""),
                    "{path}: {hidden}"
                );
                if body(&catalogs, &path, accept)
                    .await
                    .contains("\"concealed\"")
                {
                    shown.push(path.clone());
                }
            }
        }
        shown.dedup();
        assert_eq!(shown.len(), 5, "else nothing would be tested: {shown:?}");
    }

    #[test]
    fn every_route_of_plain_http_is_in_the_openapi_document_and_no_other() {
        let document: Value = serde_json::from_str(catalogd_http::OPENAPI).unwrap();
        let paths: BTreeSet<_> = document["paths"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        let renovate = renovate_http::routes().map(str::to_owned);
        let feeds = feeds_http::routes().map(str::to_owned);
        let routes = catalogd_http::routes().into_iter().chain(renovate);
        let routes = routes.chain(feeds);
        assert_eq!(paths, routes.collect());
        for (path, operations) in document["paths"].as_object().unwrap() {
            let methods: Vec<_> = operations
                .as_object()
                .unwrap()
                .keys()
                .filter(|key| *key != "parameters")
                .collect();
            assert_eq!(methods, ["get", "head"], "{path}");
        }
        assert_eq!(document["openapi"], "3.1.0");
    }
}
