//! Which handler answers a path, as metrics name it.

use ::metrics::labels;
use serving::ICONS;

labels! {
    /// What answers a request.
    pub enum Handler {
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

/// What the paths of catalogd's API, and of edits, begin with.
const CATALOGS: &str = "/catalogs/";

/// What the paths of the files of the pages begin with.
const PAGE_PATHS: [&str; 2] = ["/assets/", "/playground/"];

impl Handler {
    /// Returns the handler of a path.
    pub(super) fn of_path(path: &str) -> Self {
        match path {
            "/graphql" => Self::Graphql,
            "/" | "/playground" => Self::Page,
            "/schema.graphql" | "/openapi.json" | "/version" => Self::Schema,
            _ if path.starts_with(CATALOGS) => match path.rsplit('/').next() {
                Some("metas") => Self::Metas,
                Some("all" | "all.json") => Self::All,
                Some("graphql") => Self::AlphaGraphql,
                Some("edits") => Self::Edits,
                _ => Self::Other,
            },
            _ if path.starts_with(ICONS) => Self::Icon,
            _ if PAGE_PATHS.iter().any(|prefix| path.starts_with(prefix)) => Self::Page,
            _ => Self::Other,
        }
    }
}

/// Returns whether catalogd would count a request for this path.
pub(super) fn is_catalogds(path: &str) -> bool {
    path.starts_with(CATALOGS) && Handler::of_path(path) != Handler::Edits
}
