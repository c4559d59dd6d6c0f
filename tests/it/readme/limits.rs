//! The limits and prices that the reference lists.

use catalogql::run::SETTINGS_INTERVAL;
use fbc::work::Step;
use fbc_read::{ReadLimits, problem};
use graphql::StreamLimits;
use graphql::limits::Limits;
use http_content::coding;
use images::{copy, unpack};
use install_preview::render::MAX_REPEATED_BYTES;
use install_preview::{bundle, crd_upgrade, rights, summary};
use remote_sources::FetchLimits;

use super::{row_name, row_value};

/// Each limit by its name in the reference.
pub(super) fn limits() -> Vec<(&'static str, String)> {
    let mut all = request_limits();
    all.extend(prices());
    all.extend(connection_limits());
    all.extend(http_limits());
    all.extend(alpha_limits());
    all.extend(search_limits());
    all.extend(layer_limits());
    all.extend(catalog_limits());
    all.extend(image_limits());
    all.extend(solving_limits());
    all.extend(preview_limits());
    all.extend(editing_limits());
    all.extend(mirror_limits());
    all.extend(export_limits());
    all.extend(tool_limits());
    all.extend(pull_limits());
    all.extend(shared_store_limits());
    all.extend(download_limits());
    all.extend(controller_limits());
    all.extend(auth_limits());
    all.extend(kube_api_and_grpc_limits());
    all
}

/// The prices of work, in nanoseconds.
fn prices() -> Vec<(&'static str, String)> {
    let name = |step| match step {
        Step::Object => "object",
        Step::Bundle => "bundle",
        Step::Comparison => "comparison",
        Step::Package => "package",
        Step::Blob => "blob",
        Step::Posting => "posting",
        Step::Word => "word",
        Step::FacetValue => "facet value",
        Step::SortStep => "sort step",
        Step::Seek => "seek",
        Step::Edge => "edge",
        Step::ParsedByte => "parsed byte",
        Step::JsonByte => "JSON byte",
        Step::DecodedByte => "decoded byte",
        Step::WrittenByte => "written byte",
        Step::Rule => "rule step",
        Step::Literal => "literal",
    };
    Step::ALL
        .into_iter()
        .map(|step| (name(step), step.price().to_string()))
        .collect()
}

fn request_limits() -> Vec<(&'static str, String)> {
    let limits = Limits::default();
    let Limits {
        in_flight_bytes,
        documents,
        document_bytes,
        cache_bytes,
        cached_response_bytes,
        compressed_bytes,
        streams,
        ..
    } = limits.clone();
    let StreamLimits {
        streams,
        operations,
        ping,
        init,
        renewal,
    } = streams;
    let mut all = vec![
        ("long requests", graphql::MAX_WAITING.to_string()),
        (
            "long requests of a peer",
            graphql::MAX_WAITING_OF_PEER.to_string(),
        ),
        ("turn", format!("{} s", graphql::MAX_WAIT.as_secs())),
        ("in flight", in_flight_bytes.to_string()),
        ("bodies", graphql_http::READING_BYTES.to_string()),
        (
            "body not counted",
            graphql_http::UNCOUNTED_BODY_BYTES.to_string(),
        ),
        (
            "unfinished message",
            graphql_http::UNCOUNTED_MESSAGE_BYTES.to_string(),
        ),
        ("waiting", graphql_http::WAITING_BYTES.to_string()),
        (
            "large requests",
            graphql_http::LARGE_REQUESTS_BYTES.to_string(),
        ),
        (
            "small request",
            graphql_http::SMALL_REQUEST_BYTES.to_string(),
        ),
        (
            "subscription requests",
            graphql_http::SUBSCRIPTION_BYTES.to_string(),
        ),
        (
            "small answer",
            graphql_http::SMALL_RESPONSE_BYTES.to_string(),
        ),
        ("documents", documents.to_string()),
        ("document memory", document_bytes.to_string()),
        ("response cache", cache_bytes.to_string()),
        ("cached response", cached_response_bytes.to_string()),
        ("compressed answer", compressed_bytes.to_string()),
        ("streams", streams.to_string()),
        ("operations", operations.to_string()),
        ("sign of life", format!("{} s", ping.as_secs())),
        (
            "event wait",
            format!("{} s", graphql_http::EVENT_TIMEOUT.as_secs()),
        ),
        ("`connection_init`", format!("{} s", init.as_secs())),
        ("renewal", format!("{} s", renewal.as_secs())),
        (
            "renewal wait",
            format!("{} s", graphql::RENEWAL_TIMEOUT.as_secs()),
        ),
    ];
    all.extend(
        limits
            .list()
            .iter()
            .map(|limit| (row_name(limit.name), row_value(limit))),
    );
    all
}

fn export_limits() -> Vec<(&'static str, String)> {
    vec![
        ("row group rows", export::MAX_ROW_GROUP_ROWS.to_string()),
        ("row group bytes", export::MAX_ROW_GROUP_BYTES.to_string()),
    ]
}

fn tool_limits() -> Vec<(&'static str, String)> {
    vec![
        ("tool request", mcp::MAX_REQUEST_BYTES.to_string()),
        (
            "tool request not counted",
            mcp::UNCOUNTED_REQUEST_BYTES.to_string(),
        ),
        ("bodies of tools", mcp::READING_REQUESTS.to_string()),
        ("calls of tools", mcp::MAX_REQUESTS.to_string()),
        ("tool line", mcp::MAX_LINE_BYTES.to_string()),
        ("tool response", mcp::MAX_RESPONSE_BYTES.to_string()),
        ("tool answer", mcp::MAX_ANSWER_BYTES.to_string()),
        ("tool items", mcp::MAX_LIST_ITEMS.to_string()),
        ("tool text", mcp::MAX_TEXT_BYTES.to_string()),
    ]
}

fn mirror_limits() -> Vec<(&'static str, String)> {
    vec![
        (
            "configuration",
            mirror::configuration::MAX_CONFIGURATION_BYTES.to_string(),
        ),
        (
            "configuration values",
            mirror::configuration::MAX_CONFIGURATION_VALUES.to_string(),
        ),
        ("blocked pattern", mirror::MAX_PATTERN_BYTES.to_string()),
        (
            "installed bundles",
            mirror::MAX_INSTALLED_BUNDLES.to_string(),
        ),
        ("solved bundles", mirror::MAX_SOLVED_BUNDLES.to_string()),
        ("dependency work", mirror::MAX_DEPENDENCY_WORK.to_string()),
        ("mirror problems", mirror::problem::MAX_PROBLEMS.to_string()),
        ("copied images", copy::MAX_COPIED_IMAGES.to_string()),
        (
            "manifests of an image",
            copy::MAX_IMAGE_MANIFESTS.to_string(),
        ),
        (
            "planned manifests",
            copy::MAX_PLANNED_MANIFEST_BYTES.to_string(),
        ),
        ("copied blob", copy::MAX_COPIED_BLOB_BYTES.to_string()),
        (
            "referrers of referrers",
            copy::MAX_REFERRER_DEPTH.to_string(),
        ),
        (
            "copies from a registry",
            copy::MAX_COPIES_PER_REGISTRY.to_string(),
        ),
        ("copies", copy::MAX_CONCURRENT_COPIES.to_string()),
        ("mount candidates", copy::MAX_MOUNT_CANDIDATES.to_string()),
        ("list pages", images::MAX_LIST_PAGES.to_string()),
        ("list bytes", images::MAX_LIST_BYTES.to_string()),
        ("layout index", images::MAX_LAYOUT_INDEX_BYTES.to_string()),
    ]
}

fn editing_limits() -> Vec<(&'static str, String)> {
    vec![
        (
            "operations of a batch",
            edit::operation::MAX_OPERATIONS.to_string(),
        ),
        ("bundle file", edit::bundle::MAX_FILE_BYTES.to_string()),
        ("edited depth", edit::value::MAX_DEPTH.to_string()),
        ("posted batch", edit_http::MAX_BATCH_BYTES.to_string()),
        ("posted operations", edit_http::MAX_OPERATIONS.to_string()),
        ("posted bundles", edit_http::MAX_BUNDLES.to_string()),
        ("posted names", edit_http::MAX_NAMES.to_string()),
        ("changed edges", edit_http::LIMITS.edges.to_string()),
        ("changed bytes", edit_http::LIMITS.bytes.to_string()),
        ("reasons", edit::error::MAX_REASONS.to_string()),
        (
            "publishing",
            format!("{} s", edit_http::MAX_PUBLISHING.as_secs()),
        ),
        ("rendered batch", edit_http::MAX_RENDERED_BYTES.to_string()),
        ("pending batches", edit_http::PENDING_BYTES.to_string()),
        ("idempotency key", edit_http::MAX_KEY_BYTES.to_string()),
        (
            "idempotency keys",
            edit_directory::journal::MAX_KEYS.to_string(),
        ),
        (
            "kept response",
            edit_directory::journal::MAX_RESPONSE_BYTES.to_string(),
        ),
    ]
}

fn solving_limits() -> Vec<(&'static str, String)> {
    vec![
        ("steps", platform_upgrade::MAX_STEPS.to_string()),
        (
            "installed bundles of a plan",
            platform_upgrade::MAX_INSTALLED_BUNDLES.to_string(),
        ),
        (
            "catalogs of a matrix",
            platform_upgrade::MAX_STEPS.to_string(),
        ),
        ("states", platform_upgrade::MAX_STATES.to_string()),
        ("wanted packages", solve::MAX_WANTED_PACKAGES.to_string()),
        (
            "installed operators",
            solve::MAX_INSTALLED_OPERATORS.to_string(),
        ),
        (
            "operator properties",
            solve::MAX_OPERATOR_PROPERTY_BYTES.to_string(),
        ),
        ("variables", solve::MAX_VARIABLES.to_string()),
        ("literals", solve::MAX_LITERALS.to_string()),
        ("questions", solve::MAX_QUESTIONS.to_string()),
        ("rule", solve::MAX_RULE_BYTES.to_string()),
        ("rule operators", solve::MAX_RULE_OPERATORS.to_string()),
        ("rule depth", solve::MAX_RULE_DEPTH.to_string()),
        ("pattern", solve::MAX_PATTERN_BYTES.to_string()),
        ("rule evaluation", solve::MAX_EVALUATION_STEPS.to_string()),
        ("rule steps", solve::MAX_RULE_STEPS.to_string()),
        ("rule values", solve::MAX_RULE_VALUES.to_string()),
        ("passed over", solve::MAX_PASSED_OVER.to_string()),
        ("candidates", solve::MAX_CANDIDATES.to_string()),
    ]
}

fn image_limits() -> Vec<(&'static str, String)> {
    let images::PullLimits {
        manifest_bytes,
        config_bytes,
        layers,
        layer_bytes,
    } = images::PullLimits::default();
    let images::RetryPolicy {
        connect_timeout,
        read_timeout,
        min_bytes_per_second,
        max_attempts,
        initial_backoff,
        max_backoff,
    } = images::RetryPolicy::default();
    vec![
        ("image manifest", manifest_bytes.to_string()),
        ("image config", config_bytes.to_string()),
        ("layers", layers.to_string()),
        ("layer bytes", layer_bytes.to_string()),
        ("nested indexes", images::MAX_NESTED_INDEXES.to_string()),
        ("layout entries", images::MAX_LAYOUT_ENTRIES.to_string()),
        ("redirects", images::MAX_REDIRECTS.to_string()),
        ("token", images::MAX_TOKEN_RESPONSE_BYTES.to_string()),
        ("refusal", images::MAX_ERROR_BODY_BYTES.to_string()),
        ("signatures", signature_policy::MAX_SIGNATURES.to_string()),
        (
            "signed payload",
            signature_policy::MAX_PAYLOAD_BYTES.to_string(),
        ),
        ("bundle", signature_policy::MAX_BUNDLE_BYTES.to_string()),
        ("log entries", signature_policy::MAX_LOG_ENTRIES.to_string()),
        (
            "OpenPGP message",
            signature_policy::MAX_OPENPGP_BYTES.to_string(),
        ),
        ("OpenPGP keys", openpgp_bits()),
        ("signature bytes", images::MAX_SIGNATURE_BYTES.to_string()),
        (
            "signature annotation",
            signature_policy::MAX_ANNOTATION_BYTES.to_string(),
        ),
        (
            "certificate chain",
            signature_policy::MAX_CHAIN_CERTIFICATES.to_string(),
        ),
        ("policy keys", signature_policy::MAX_KEYS.to_string()),
        (
            "policy key file",
            signature_policy::MAX_KEYRING_BYTES.to_string(),
        ),
        (
            "kept judgement",
            signature_policy::MAX_JUDGEMENT_BYTES.to_string(),
        ),
        ("kept refusals", signature_policy::MAX_REFUSALS.to_string()),
        (
            "kept refusal",
            signature_policy::MAX_REFUSAL_BYTES.to_string(),
        ),
        ("shown reasons", loading::MAX_SHOWN_REASON_BYTES.to_string()),
        ("signature request", seconds(images::SIGNATURE_TIMEOUT)),
        ("signature requests", seconds(images::SIGNATURES_TIMEOUT)),
        ("helper", format!("{} s", images::HELPER_TIMEOUT.as_secs())),
        ("helper answer", images::MAX_HELPER_OUTPUT_BYTES.to_string()),
        ("connection", format!("{} s", connect_timeout.as_secs())),
        ("silence", format!("{} s", read_timeout.as_secs())),
        ("slowest", min_bytes_per_second.to_string()),
        ("request tries", max_attempts.to_string()),
        ("first wait", format!("{} ms", initial_backoff.as_millis())),
        ("longest wait", format!("{} s", max_backoff.as_secs())),
    ]
}

fn seconds(time: std::time::Duration) -> String {
    format!("{} s", time.as_secs())
}

fn openpgp_bits() -> String {
    let bits = signature_policy::OPENPGP_RSA_BITS;
    format!("{}–{}", bits.start(), bits.end())
}

fn connection_limits() -> Vec<(&'static str, String)> {
    let http_server::ConnectionLimits {
        connections,
        peer_connections,
        probe_connections,
        header_timeout: headers,
        header_bytes,
        request_timeout: request,
        write_timeout: stall,
        shutdown_grace: end,
        idle_grace,
        handshakes,
        handshake_timeout: handshake,
        http2,
    } = http_server::ConnectionLimits::default();
    let http_server::Http2Limits {
        streams,
        window_bytes,
        unsent_bytes,
        reset_streams,
        error_streams,
        ..
    } = http2;
    vec![
        ("connections", connections.to_string()),
        ("connections of a peer", peer_connections.to_string()),
        ("probe connections", probe_connections.to_string()),
        ("accept queue", http_server::ACCEPT_QUEUE.to_string()),
        ("headers", format!("{} s", headers.as_secs())),
        ("header bytes", header_bytes.to_string()),
        ("request", format!("{} s", request.as_secs())),
        ("stall", format!("{} s", stall.as_secs())),
        ("end", format!("{} s", end.as_secs())),
        ("idle end", seconds(idle_grace)),
        ("piece of a body", http_server::FAIR_BYTES.to_string()),
        ("TLS handshakes", handshakes.to_string()),
        ("TLS handshake", format!("{} s", handshake.as_secs())),
        ("HTTP/2 streams", streams.to_string()),
        ("HTTP/2 window", window_bytes.to_string()),
        ("HTTP/2 queue", unsent_bytes.to_string()),
        ("HTTP/2 write", http_server::COALESCED_BYTES.to_string()),
        ("HTTP/2 resets", reset_streams.to_string()),
        ("HTTP/2 errors", error_streams.to_string()),
        ("HTTP/2 idle", format!("{} s", http2.idle_timeout.as_secs())),
        ("HTTP/2 goodbye", format!("{} s", http2.goodbye.as_secs())),
    ]
}

fn http_limits() -> Vec<(&'static str, String)> {
    vec![
        (
            "minimum revisions",
            serving::MAX_MINIMUM_REVISIONS.to_string(),
        ),
        ("revision wait", seconds(catalog_server::REVISION_WAIT)),
        (
            "waits for revisions",
            catalog_server::WAITING_REQUESTS.to_string(),
        ),
        ("revision check", seconds(catalog_server::CHECK_INTERVAL)),
        (
            "revision check time",
            seconds(catalog_server::CHECK_TIMEOUT),
        ),
        ("named contents", catalog_server::NAMED_CONTENTS.to_string()),
        ("target", catalogd_http::MAX_TARGET_BYTES.to_string()),
        ("ranges", catalogd_http::MAX_RANGES.to_string()),
        (
            "compressed blobs",
            catalogd_http::MAX_ENCODED_BYTES.to_string(),
        ),
        (
            "compressed streams",
            catalogd_http::MAX_COMPRESSED_STREAMS.to_string(),
        ),
        (
            "encoding cache",
            catalogd_http::ENCODING_CACHE_BYTES.to_string(),
        ),
        (
            "cached encoding",
            catalogd_http::MAX_CACHED_ENCODING_BYTES.to_string(),
        ),
        ("places", catalogd_http::MAX_LINE_RANGES_BYTES.to_string()),
        (
            "places not counted",
            catalogd_http::UNCOUNTED_LINE_RANGES_BYTES.to_string(),
        ),
        ("work for Renovate", renovate_http::MAX_WORK.to_string()),
        ("webhooks", webhooks::MAX_WEBHOOKS.to_string()),
        ("waiting events", webhooks::MAX_PENDING_EVENTS.to_string()),
        ("webhook attempts", webhooks::MAX_ATTEMPTS.to_string()),
        ("webhook connection", seconds(webhooks::CONNECT_TIMEOUT)),
        ("webhook attempt", seconds(webhooks::ATTEMPT_TIMEOUT)),
        ("first webhook wait", seconds(webhooks::FIRST_BACKOFF)),
        ("longest webhook wait", seconds(webhooks::MAX_BACKOFF)),
        (
            "webhook secret",
            format!(
                "{}–{}",
                webhooks::MIN_SECRET_BYTES,
                webhooks::MAX_SECRET_BYTES
            ),
        ),
        ("feed entries", feeds_http::MAX_ENTRIES.to_string()),
        ("feed", feeds_http::MAX_FEED_BYTES.to_string()),
        ("work for a feed", feeds_http::MAX_WORK.to_string()),
        ("listed changes", feeds_http::MAX_LISTED_CHANGES.to_string()),
        ("shown names", feeds_http::MAX_SHOWN_NAME.to_string()),
        ("behind", serving::MAX_BEHIND.as_secs().to_string()),
        ("status reads", controller::MAX_STATUS_READS.to_string()),
        (
            "status read",
            controller::STATUS_READ_TIMEOUT.as_secs().to_string(),
        ),
        (
            "status read backoff",
            controller::STATUS_READ_BACKOFF.as_secs().to_string(),
        ),
        ("queued reads", serving::QUEUED_READS.to_string()),
        ("compressed at least", coding::MIN_ENCODED_BYTES.to_string()),
    ]
}

fn alpha_limits() -> Vec<(&'static str, String)> {
    vec![
        ("alpha body", alpha_graphql::MAX_BODY_BYTES.to_string()),
        ("alpha query", alpha_graphql::MAX_QUERY_BYTES.to_string()),
        (
            "alpha variables",
            alpha_graphql::MAX_VARIABLES_BYTES.to_string(),
        ),
        ("alpha depth", alpha_graphql::MAX_DEPTH.to_string()),
        (
            "alpha introspection depth",
            alpha_graphql::MAX_INTROSPECTION_DEPTH.to_string(),
        ),
        ("alpha aliases", alpha_graphql::MAX_ALIASES.to_string()),
        ("alpha fields", alpha_graphql::MAX_FIELDS.to_string()),
        ("alpha page size", alpha_graphql::PAGE_SIZE.to_string()),
        (
            "alpha introspection",
            graphql::runtime_schema::MAX_INTROSPECTED_VALUES.to_string(),
        ),
        ("alpha schemas", alpha_graphql::MAX_SCHEMAS.to_string()),
        ("alpha keys", alpha_graphql::MAX_KEYS.to_string()),
        ("alpha names", alpha_graphql::MAX_NAME_BYTES.to_string()),
        (
            "alpha build",
            format!("{} s", alpha_graphql::BUILD_TIME.as_secs()),
        ),
        (
            "kept alpha schemas",
            alpha_graphql::MAX_CACHED_SCHEMAS.to_string(),
        ),
        (
            "kept alpha schema bytes",
            alpha_graphql::MAX_SCHEMA_BYTES.to_string(),
        ),
        ("alpha requests", alpha_graphql::REQUEST_BYTES.to_string()),
        (
            "alpha request not counted",
            alpha_graphql::UNCOUNTED_REQUEST_BYTES.to_string(),
        ),
        (
            "alpha in flight",
            alpha_graphql::IN_FLIGHT_BYTES.to_string(),
        ),
        (
            "alpha response not counted",
            alpha_graphql::UNCOUNTED_RESPONSE_BYTES.to_string(),
        ),
    ]
}

fn search_limits() -> Vec<(&'static str, String)> {
    vec![
        ("completed letters", fbc::MAX_COMPLETED_LETTERS.to_string()),
        ("compared name", fbc::similar::MAX_LETTERS.to_string()),
        ("similar names", fbc::similar::MAX_SUGGESTIONS.to_string()),
        (
            "suggested fields",
            graphql::MAX_SUGGESTED_FIELDS.to_string(),
        ),
        ("variable errors", graphql::MAX_VARIABLE_ERRORS.to_string()),
        ("shown value", graphql::MAX_SHOWN_BYTES.to_string()),
        ("compared names", graphql::MAX_COMPARED_NAMES.to_string()),
        ("search letters", fbc::MAX_SEARCH_LETTERS.to_string()),
        ("search words", fbc::MAX_SEARCH_WORDS.to_string()),
        (
            "merged contents",
            graphql::search_index::MERGED_CONTENTS.to_string(),
        ),
        (
            "eagerly merged catalogs",
            graphql::search_index::EAGERLY_MERGED_CATALOGS.to_string(),
        ),
        (
            "merged packages",
            graphql::search_index::MERGED_LIMITS.packages.to_string(),
        ),
        (
            "merged words",
            graphql::search_index::MERGED_LIMITS.words.to_string(),
        ),
        (
            "merged postings",
            graphql::search_index::MERGED_LIMITS.postings.to_string(),
        ),
        ("word letters", fbc::MAX_WORD_LETTERS.to_string()),
        ("package words", fbc::MAX_PACKAGE_WORDS.to_string()),
        ("description", fbc::MAX_DESCRIPTION_BYTES.to_string()),
    ]
}

fn layer_limits() -> Vec<(&'static str, String)> {
    let unpack::UnpackLimits {
        layers,
        headers,
        header_bytes,
        uncompressed,
        ratio,
        ratio_from,
        entries,
        links,
        path_bytes,
        file_bytes,
        bytes,
    } = unpack::UnpackLimits::default();
    vec![
        ("layers", layers.to_string()),
        ("headers", headers.to_string()),
        ("header bytes of an entry", header_bytes.to_string()),
        ("uncompressed", uncompressed.to_string()),
        ("ratio", ratio.to_string()),
        ("ratio from", ratio_from.to_string()),
        ("zstd window", unpack::MAX_ZSTD_WINDOW_LOG.to_string()),
        ("image entries", entries.to_string()),
        ("image links", links.to_string()),
        ("links in a row", unpack::MAX_LINK_HOPS.to_string()),
        ("image path", path_bytes.to_string()),
        ("image name", unpack::MAX_NAME_BYTES.to_string()),
        ("image file", file_bytes.to_string()),
        ("image files", bytes.to_string()),
    ]
}

fn catalog_limits() -> Vec<(&'static str, String)> {
    let ReadLimits {
        blob_bytes,
        depth,
        indicators,
        members,
    } = ReadLimits::default();
    vec![
        ("entries", loading::directory::ENTRIES.to_string()),
        (
            "`.indexignore`",
            fbc_grammar::ignore::IGNORE_FILE_BYTES.to_string(),
        ),
        (
            "pattern bytes",
            fbc_grammar::ignore::MAX_RULE_BYTES.to_string(),
        ),
        (
            "pattern steps",
            fbc_grammar::ignore::MAX_MATCH_STEPS.to_string(),
        ),
        ("blob", blob_bytes.to_string()),
        ("blob depth", depth.to_string()),
        ("YAML indicators", indicators.to_string()),
        ("members", members.to_string()),
        ("content", fbc::MAX_CONTENT_BYTES.to_string()),
        ("objects of a catalog", fbc::FREE_OBJECTS.to_string()),
        (
            "documents of a catalog",
            loading::FREE_DOCUMENTS.to_string(),
        ),
        ("store check", seconds(loading::CHECK_INTERVAL)),
        ("first store check", seconds(loading::FIRST_CHECK_AFTER)),
        ("growth", loading::MAX_GROWTH.to_string()),
        ("problems", problem::MAX_PROBLEMS_PER_CODE.to_string()),
        (
            "problem texts",
            problem::MAX_PROBLEM_BYTES_PER_CODE.to_string(),
        ),
        ("problem message", problem::MAX_MESSAGE_BYTES.to_string()),
        ("quoted text", problem::MAX_QUOTED_BYTES.to_string()),
        ("constraint", fbc::MAX_CONSTRAINT_BYTES.to_string()),
        ("tries", loading::ATTEMPTS.to_string()),
        ("shares", store::QUOTA_SHARES.to_string()),
        ("store", store::DEFAULT_QUOTA_BYTES.to_string()),
        ("remembered contents", fbc::outline::REMEMBERED.to_string()),
        ("change log", serving::MAX_CHANGE_LOG_BYTES.to_string()),
        ("change sets", serving::MAX_CHANGE_SETS.to_string()),
        (
            "names of a change set",
            serving::MAX_CHANGE_SET_BYTES.to_string(),
        ),
        ("change logs", store::MAX_CHANGE_LOGS.to_string()),
        ("contents to record", loading::QUEUED_CONTENTS.to_string()),
    ]
}

fn controller_limits() -> Vec<(&'static str, String)> {
    let controller::LeaseDurations {
        lease,
        renew,
        retry,
    } = controller::LeaseDurations::default();
    let seconds = [
        ("lease", lease),
        ("lease renewal", renew),
        ("lease retry", retry),
        ("pull secret", controller::FIRST_RESPONSE_TIMEOUT),
        ("first report", controller::FIRST_REPORT),
        ("write", controller::WRITE_TIMEOUT),
        ("write retry", controller::WRITE_RETRY),
        ("longest write retry", controller::MAX_WRITE_RETRY),
        ("`CatalogSource` poll", controller::MIN_POLL),
        ("settings", SETTINGS_INTERVAL),
    ];
    let counts = [
        (
            "condition message",
            controller::MAX_MESSAGE_BYTES.to_string(),
        ),
        (
            "quoted problem",
            controller::MAX_QUOTED_PROBLEM_BYTES.to_string(),
        ),
    ];
    seconds
        .map(|(name, time)| (name, format!("{} s", time.as_secs())))
        .into_iter()
        .chain(counts)
        .collect()
}

fn auth_limits() -> Vec<(&'static str, String)> {
    vec![
        ("answer about a caller", seconds(auth::CACHE_TIME)),
        (
            "answer about an unknown caller",
            seconds(auth::ERROR_CACHE_TIME),
        ),
        ("callers", auth::CACHED_DECISIONS.to_string()),
        (
            "questions about callers",
            auth::MAX_CONCURRENT_REVIEWS.to_string(),
        ),
        ("expired token", seconds(auth::EXPIRED_TIME)),
        ("turn of a question", seconds(auth::REVIEW_PERMIT_TIMEOUT)),
        ("question about a caller", seconds(auth::REVIEW_TIMEOUT)),
        ("token", auth::MAX_TOKEN_BYTES.to_string()),
        ("reason", auth::MAX_REASON_BYTES.to_string()),
        ("sets of catalogs", serving::NARROWED_SNAPSHOTS.to_string()),
        ("waiting lines", http_server::WAITING_LINES.to_string()),
        ("waiting spans", http_server::WAITING_SPANS.to_string()),
        ("spans of a batch", http_server::BATCH_SPANS.to_string()),
        ("batch delay", seconds(http_server::BATCH_DELAY)),
        ("export", seconds(http_server::EXPORT_TIMEOUT)),
        ("last export", seconds(http_server::LAST_EXPORT_TIMEOUT)),
    ]
}

fn kube_api_and_grpc_limits() -> Vec<(&'static str, String)> {
    let http2 = http_server::Http2Limits::for_grpc();
    vec![
        ("chunk of a list", kube_api::CHUNK_BYTES.to_string()),
        (
            "cached manifests",
            kube_api::MANIFEST_CACHE_BYTES.to_string(),
        ),
        ("lists being sent", kube_api::MAX_STREAMED_LISTS.to_string()),
        ("list time", seconds(kube_api::LIST_TIME)),
        ("requirements", kube_api::MAX_REQUIREMENTS.to_string()),
        (
            "compressed list",
            kube_api::MAX_COMPRESSED_BYTES.to_string(),
        ),
        (
            "converted response",
            kube_api::MAX_CONVERTED_BYTES.to_string(),
        ),
        ("watches", kube_api::MAX_WATCHES.to_string()),
        ("watch time", seconds(kube_api::MAX_WATCH_TIME)),
        ("watch events", kube_api::MAX_EVENTS.to_string()),
        ("watch stall", seconds(kube_api::WATCH_STALL)),
        ("watch lag", seconds(kube_api::MAX_WATCH_LAG)),
        ("former states", kube_api::FORMER_STATES.to_string()),
        ("bookmark interval", seconds(kube_api::BOOKMARK_INTERVAL)),
        ("rights of a watch", seconds(kube_api::RENEWAL_INTERVAL)),
        ("rights wait", seconds(kube_api::RENEWAL_TIMEOUT)),
        ("later state", seconds(kube_api::RESOURCE_VERSION_WAIT)),
        ("gRPC streams", http2.streams.to_string()),
        ("gRPC idle", seconds(http2.idle_timeout)),
        (
            "gRPC ping",
            http2.ping_interval.map_or_else(String::new, seconds),
        ),
        ("gRPC pong", seconds(http2.ping_timeout)),
        ("gRPC request", grpc::MAX_REQUEST_BYTES.to_string()),
        ("gRPC responses", grpc::LARGE_RESPONSES.to_string()),
        ("gRPC bundle cache", grpc::CACHED_BUNDLE_BYTES.to_string()),
        ("gRPC response", seconds(grpc::STREAM_TIME)),
        ("custom schema depth", grpc::MAX_STRUCT_DEPTH.to_string()),
    ]
}

fn pull_limits() -> Vec<(&'static str, String)> {
    vec![
        ("pulls", loading::MAX_CONCURRENT_PULLS.to_string()),
        (
            "first attempt",
            format!("{} s", loading::READY_AFTER.as_secs()),
        ),
        ("poll", format!("{} s", loading::POLL.as_secs())),
        ("retry", format!("{} s", loading::PULL_BACKOFF.as_secs())),
        ("jitter", format!("{} %", loading::JITTER * 100.0)),
    ]
}

fn shared_store_limits() -> Vec<(&'static str, String)> {
    vec![
        ("shared record", shared_store::MAX_RECORD_BYTES.to_string()),
        (
            "shared analysis",
            shared_store::MAX_ANALYSIS_BYTES.to_string(),
        ),
        (
            "shared content",
            shared_store::MAX_COMPRESSED_BYTES.to_string(),
        ),
        ("shared lines", shared_store::MAX_CONTENT_BYTES.to_string()),
        (
            "shared compression",
            shared_store::MAX_COMPRESSION.to_string(),
        ),
        ("shared request", seconds(shared_store::REQUEST_TIMEOUT)),
        ("shared silence", seconds(shared_store::IDLE_TIMEOUT)),
        (
            "shared download time",
            seconds(shared_store::DOWNLOAD_TIMEOUT),
        ),
        (
            "shared download rate",
            shared_store::MIN_DOWNLOAD_RATE.to_string(),
        ),
        (
            "shared downloads",
            shared_store::MAX_CONCURRENT_DOWNLOADS.to_string(),
        ),
        (
            "shared upload rate",
            shared_store::MIN_UPLOAD_RATE.to_string(),
        ),
        (
            "failed shared store",
            seconds(shared_store::BREAKER_BACKOFF),
        ),
        (
            "longest failed shared store",
            seconds(shared_store::MAX_BREAKER_BACKOFF),
        ),
        (
            "wait for a replica",
            seconds(shared_store::WAIT_FOR_REPLICA),
        ),
        ("lease of a pull", seconds(shared_store::LEASE_DURATION)),
        ("longest lease of a pull", seconds(shared_store::MAX_LEASE)),
        (
            "pending shared uploads",
            shared_store::MAX_PENDING_UPLOADS.to_string(),
        ),
        (
            "shared upload tries",
            shared_store::UPLOAD_ATTEMPTS.to_string(),
        ),
        (
            "first shared upload wait",
            seconds(shared_store::UPLOAD_BACKOFF),
        ),
    ]
}

fn download_limits() -> Vec<(&'static str, String)> {
    let FetchLimits {
        connect_timeout,
        silence,
        min_bytes_per_second,
        total,
        head_bytes,
        body_bytes,
        attempts,
        ..
    } = FetchLimits::default();
    let seconds = |duration: std::time::Duration| format!("{} s", duration.as_secs());
    vec![
        ("download connection", seconds(connect_timeout)),
        ("download silence", seconds(silence)),
        ("download rate", min_bytes_per_second.to_string()),
        ("download time", seconds(total)),
        ("response head", head_bytes.to_string()),
        ("download", body_bytes.to_string()),
        ("download attempts", attempts.to_string()),
        ("redirects", remote_sources::MAX_REDIRECTS.to_string()),
        ("validator", remote_sources::MAX_VALIDATOR_BYTES.to_string()),
        ("fresh response", seconds(remote_sources::MAX_FRESH)),
        (
            "connections to a host",
            remote_sources::MAX_CONNECTIONS_PER_HOST.to_string(),
        ),
        ("downloads", remote_sources::MAX_DOWNLOADS.to_string()),
        ("secret", remote_sources::MAX_SECRET_BYTES.to_string()),
        (
            "followed catalogs",
            remote_sources::MAX_FOLLOWED_CATALOGS.to_string(),
        ),
        ("catalog list", remote_sources::MAX_LIST_BYTES.to_string()),
        (
            "announcement",
            remote_sources::MAX_ANNOUNCEMENT_BYTES.to_string(),
        ),
        ("missing catalog", seconds(remote_sources::REMOVED_AFTER)),
        ("reconnection", seconds(remote_sources::MAX_RECONNECT)),
        ("followed poll", seconds(loading::FOLLOWED_POLL)),
        ("servers between", remote_sources::MAX_HOPS.to_string()),
        ("git pack", remote_sources::MAX_PACK_BYTES.to_string()),
        ("git objects", remote_sources::MAX_PACK_OBJECTS.to_string()),
        (
            "git objects together",
            remote_sources::MAX_OBJECTS_BYTES.to_string(),
        ),
        ("git deltas", remote_sources::MAX_DELTA_DEPTH.to_string()),
        (
            "git delta",
            remote_sources::MAX_DELTA_OBJECT_BYTES.to_string(),
        ),
        (
            "git delta memory",
            remote_sources::MAX_DELTA_MEMORY_BYTES.to_string(),
        ),
        ("git reading", remote_sources::MAX_READ_BYTES.to_string()),
        (
            "git commit or tree",
            remote_sources::MAX_STRUCTURE_BYTES.to_string(),
        ),
        ("git refs", remote_sources::MAX_REFS_BYTES.to_string()),
        ("git ref", remote_sources::MAX_REF_BYTES.to_string()),
        ("git tags", remote_sources::MAX_TAG_HOPS.to_string()),
        ("git folders", remote_sources::MAX_TREE_DEPTH.to_string()),
        ("git name", remote_sources::MAX_TREE_NAME_BYTES.to_string()),
        ("first download retry", seconds(loading::REMOTE_BACKOFF)),
        (
            "longest download retry",
            seconds(loading::MAX_REMOTE_BACKOFF),
        ),
    ]
}

fn preview_limits() -> Vec<(&'static str, String)> {
    vec![
        ("bundle file", bundle::MAX_BUNDLE_FILE_BYTES.to_string()),
        ("bundle manifests", bundle::MAX_BUNDLE_BYTES.to_string()),
        ("bundle files", bundle::MAX_BUNDLE_FILES.to_string()),
        ("bundle objects", bundle::MAX_BUNDLE_OBJECTS.to_string()),
        ("bundle rules", bundle::MAX_BUNDLE_RULES.to_string()),
        (
            "bundle deployments",
            bundle::MAX_BUNDLE_DEPLOYMENTS.to_string(),
        ),
        ("repeated content", MAX_REPEATED_BYTES.to_string()),
        ("bundle subjects", summary::MAX_BUNDLE_SUBJECTS.to_string()),
        (
            "rules of subjects",
            summary::MAX_SUBJECT_RULE_BYTES.to_string(),
        ),
        ("bundle rights", rights::MAX_RIGHT_ATOMS.to_string()),
        ("rights of paths", rights::MAX_RIGHT_PATHS.to_string()),
        ("texts of rights", rights::MAX_RIGHT_BYTES.to_string()),
        (
            "compared definition",
            crd_upgrade::MAX_COMPARED_DEFINITION_BYTES.to_string(),
        ),
        (
            "compared fields",
            crd_upgrade::MAX_COMPARED_FIELDS.to_string(),
        ),
        (
            "definition changes",
            crd_upgrade::MAX_DEFINITION_CHANGES.to_string(),
        ),
        (
            "texts of definition changes",
            crd_upgrade::MAX_DEFINITION_CHANGE_BYTES.to_string(),
        ),
        (
            "bundle layers",
            bundle_images::MAX_BUNDLE_LAYER_BYTES.to_string(),
        ),
        ("bundle images", graphql::MAX_BUNDLE_IMAGES.to_string()),
        ("fetch rounds", graphql::MAX_FETCH_ROUNDS.to_string()),
        (
            "bundle fetches",
            bundle_images::MAX_CONCURRENT_FETCHES.to_string(),
        ),
        (
            "waiting fetches",
            bundle_images::MAX_WAITING_FETCHES.to_string(),
        ),
        ("bundle fetch", seconds(bundle_images::FETCH_TIMEOUT)),
        ("failed fetch", seconds(bundle_images::FAILURE_TTL)),
        (
            "failed fetches",
            bundle_images::MAX_REMEMBERED_FAILURES.to_string(),
        ),
        ("kept bundles", bundle_images::MAX_KEPT_BYTES.to_string()),
    ]
}
