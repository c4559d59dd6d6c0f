//! Which recorded answers are not ours, on purpose.

/// Why some cases differ, and each of them by name with what differs: its status, its body, names
/// of headers.
pub(super) type Difference = (&'static str, &'static [(&'static str, &'static str)]);

#[rustfmt::skip]
pub(super) const DIFFERENT: &[Difference] = &[
    (
        "A `#` in a target is cut off with what follows, before anybody here sees it; no client sends one.",
        &[
            ("all/fragment-in-target", "accept-ranges body content-length content-type last-modified status x-content-type-options"),
            ("metas-params/fragment", "body content-length"),
        ],
    ),
    (
        "A query that cannot be read is refused; catalogd leaves out the pair and serves what was not asked for.",
        &[
            ("metas-params/semicolon-then-good", "body content-length content-type last-modified status x-content-type-options"),
            ("metas-params/bad-percent", "body content-type last-modified status x-content-type-options"),
            ("metas-params/bad-percent-with-good", "body content-length content-type last-modified status x-content-type-options"),
            ("metas-params/truncated-percent", "body content-type last-modified status x-content-type-options"),
        ],
    ),
    (
        "The path of the first versions of catalogd is served.",
        &[
            ("paths/all-json-old-path", "accept-ranges body content-length content-type last-modified status x-content-type-options"),
        ],
    ),
    (
        "Probes are answered at the same address.",
        &[
            ("paths/healthz", "body content-length status vary x-content-type-options"),
        ],
    ),
    (
        "`<`, `>` and `&` are not escaped in JSON of GraphQL, which reads as the same.",
        &[("encoding/graphql-large-zstd", "body")],
    ),
    (
        "A body that does not come in time gets a 408.",
        &[("protocol/short-body", "body content-length content-type status vary x-content-type-options")],
    ),
    (
        "A date that cannot be read counts as no header; catalogd answers 500 and then serves the content.",
        &[
            ("metas-conditional/ims-iso8601", "body content-length content-type status x-content-type-options"),
            ("metas-conditional/ims-utc-zone", "body content-length content-type status x-content-type-options"),
            ("metas-conditional/head-ims-invalid", "content-length content-type status x-content-type-options"),
            ("metas-conditional/no-match-ims-invalid", "body content-length content-type status x-content-type-options"),
            ("metas-conditional/whole-ims-invalid", "body content-length content-type status x-content-type-options"),
            ("metas-conditional/ims-invalid-gzip", "body content-type status x-content-type-options"),
        ],
    ),
    (
        "A date with another day of the week than its own is none, and counts as no header: RFC 9110 §13.1.3.",
        &[
            ("all-conditional/ims-wrong-weekday", "accept-ranges body content-length content-type status"),
            ("metas-conditional/ims-wrong-weekday", "body content-length content-type status"),
        ],
    ),
    (
        "A range of nothing cannot be satisfied, where Go writes a range that ends before it begins; parts are never compressed.",
        &[
            ("range/suffix-zero", "accept-ranges body content-length content-range content-type last-modified status x-content-type-options"),
            ("range/gzip-multi", "accept-ranges body content-encoding"),
            ("range/zero-blobs-suffix", "accept-ranges body content-length content-range content-type last-modified status x-content-type-options"),
        ],
    ),
    (
        "Go does not say how long these refusals are.",
        &[
            ("protocol/http11-no-host", "content-length"),
            ("protocol/http11-bad-host", "content-length"),
        ],
    ),
    (
        "hyper is stricter than Go about versions and codings of transfer, and lets pass an empty line before a request and an unknown expectation.",
        &[
            ("protocol/http12", "accept-ranges body content-length content-type last-modified status vary"),
            ("protocol/http20", "body content-length content-type status"),
            ("protocol/empty-line-first", "accept-ranges body content-length content-type last-modified status vary"),
            ("protocol/expect-other", "accept-ranges body content-length content-type last-modified status vary"),
            ("protocol/te-unknown", "body content-length content-type status"),
        ],
    ),
    (
        "hyper refuses without a text.",
        &[
            ("protocol/http09-ish", "body content-length content-type"),
            ("protocol/target-without-slash", "body content-length content-type"),
            ("protocol/target-with-space", "body content-length content-type"),
            ("protocol/target-control-char", "body content-length content-type"),
            ("protocol/header-1100k", "body content-length content-type"),
            ("protocol/header-bad-name", "body content-length content-type"),
            ("protocol/header-bad-value", "body content-length content-type"),
            ("protocol/header-no-colon", "body content-length content-type"),
            ("protocol/bad-content-length", "body content-length content-type"),
            ("protocol/two-content-lengths", "body content-length content-type"),
        ],
    ),
    (
        "The headers of a request have 32 KiB here, 1 MiB in catalogd.",
        &[
            ("protocol/header-64k", "accept-ranges body content-length content-type last-modified status vary"),
        ],
    ),
];
