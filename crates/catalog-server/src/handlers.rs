//! Handlers of the paths of this program: the label `handler` of metrics, logs and spans.
//!
//! The listener knows paths by these functions only, so that no client can make a series of
//! metrics.

use feeds_http::{FEEDS, FEEDS_OF_CATALOG};
use http_server::RequestHandler;
use metrics::{Label as _, labels};
use renovate_http::RENOVATE;
use serving::ICONS;

labels! {
    /// Handler of a request, as metrics name it.
    pub enum HandlerLabel {
        /// GraphQL over HTTP, its event streams and its WebSockets.
        Graphql = "graphql",
        /// A whole catalog.
        All = "all",
        /// The blobs of a catalog that match a filter.
        Metas = "metas",
        /// Edits of a catalog.
        Edits = "edits",
        /// catalogd's alpha GraphQL.
        AlphaGraphql = "alpha_graphql",
        /// The versions of a package, for Renovate.
        Renovate = "renovate",
        /// Tools for assistants.
        Mcp = "mcp",
        /// Changes of catalogs as an Atom feed.
        Feed = "feed",
        /// An icon.
        Icon = "icon",
        /// A page for people, or a file of one.
        Page = "page",
        /// A description: the GraphQL schema, the `OpenAPI` document, or the version.
        Schema = "schema",
        /// The aggregated Kubernetes API, whatever the path.
        KubeApi = "kube_api",
        /// gRPC, whatever the path.
        Grpc = "grpc",
        /// No route.
        Other = "other",
    }
}

/// Prefix of the paths of catalogd's API, and of edits.
const CATALOGS: &str = "/catalogs/";

/// Path of the tools for assistants, also in builds without them.
pub(crate) const MCP: &str = "/mcp";

/// Prefixes of the paths of the files of the pages.
const PAGE_PATHS: [&str; 2] = ["/assets/", "/playground/"];

/// Returns the handler of a request to the main listener.
pub(super) fn handler_of_path(path: &str) -> RequestHandler {
    let label = HandlerLabel::from_path(path);
    RequestHandler {
        // catalogd has no edits, and counts every other path below its prefix.
        is_catalogd: path.starts_with(CATALOGS) && label != HandlerLabel::Edits,
        ..label.into()
    }
}

/// Returns the handler of every request to the listener of the Kubernetes API.
pub(super) fn kube_api_handler(_: &str) -> RequestHandler {
    HandlerLabel::KubeApi.into()
}

/// Returns the handler of every request to a listener of gRPC.
pub(super) fn grpc_handler(_: &str) -> RequestHandler {
    HandlerLabel::Grpc.into()
}

impl HandlerLabel {
    fn from_path(path: &str) -> Self {
        match path {
            "/graphql" => Self::Graphql,
            MCP => Self::Mcp,
            FEEDS => Self::Feed,
            "/" | "/playground" => Self::Page,
            "/schema.graphql" | "/openapi.json" | "/version" => Self::Schema,
            _ if path.starts_with(CATALOGS) => match path.rsplit('/').next() {
                Some("metas") => Self::Metas,
                Some("all" | "all.json") => Self::All,
                Some("graphql") => Self::AlphaGraphql,
                Some("edits") => Self::Edits,
                _ => Self::Other,
            },
            _ if path.starts_with(RENOVATE) => Self::Renovate,
            _ if path.starts_with(FEEDS_OF_CATALOG) => Self::Feed,
            _ if path.starts_with(ICONS) => Self::Icon,
            _ if PAGE_PATHS.iter().any(|prefix| path.starts_with(prefix)) => Self::Page,
            _ => Self::Other,
        }
    }
}

impl From<HandlerLabel> for RequestHandler {
    fn from(label: HandlerLabel) -> Self {
        Self {
            name: label.as_str(),
            index: label.index(),
            is_catalogd: false,
            // Watches, and lists in chunks.
            streams: label == HandlerLabel::KubeApi,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_has_its_handler() {
        for (path, label) in [
            ("/graphql", HandlerLabel::Graphql),
            ("/", HandlerLabel::Page),
            ("/assets/a.js", HandlerLabel::Page),
            ("/playground", HandlerLabel::Page),
            ("/playground/assets/a.js", HandlerLabel::Page),
            ("/schema.graphql", HandlerLabel::Schema),
            ("/catalogs/a/api/v1/nothing", HandlerLabel::Other),
            ("/graphql/x", HandlerLabel::Other),
            ("/mcp", HandlerLabel::Mcp),
        ] {
            assert_eq!(HandlerLabel::from_path(path), label, "{path}");
        }
        let renovate = renovate_http::routes().map(str::to_owned);
        let feeds = feeds_http::routes().map(str::to_owned);
        let routes = catalogd_http::routes().into_iter().chain(renovate);
        for route in routes.chain(feeds) {
            assert_ne!(
                HandlerLabel::from_path(&route.replace(['{', '}'], "")),
                HandlerLabel::Other,
                "{route}"
            );
        }
    }

    #[test]
    fn paths_of_catalogd_count_for_its_own_metric_and_edits_do_not() {
        for (path, is_catalogd) in [
            ("/catalogs/a/api/v1/all", true),
            ("/catalogs/a/api/v1/nothing", true),
            ("/catalogs/a/edits", false),
            ("/graphql", false),
        ] {
            assert_eq!(handler_of_path(path).is_catalogd, is_catalogd, "{path}");
        }
    }
}
