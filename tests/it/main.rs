//! Tests of what users see, in one binary; a module is named for what it is about.

#![expect(
    clippy::unwrap_used,
    reason = "what helpers of tests cannot do fails the test"
)]

mod alpha_graphql;
mod assistants;
mod authors;
mod bad_input;
mod bad_queries;
mod bundle_images;
mod canonical;
mod catalogd;
mod closed_output;
mod command_line;
mod consoles;
mod corpus;
mod deploy;
mod descriptions;
mod documents;
mod editable;
mod edits;
mod export;
mod followed_servers;
mod forward_compat;
mod fuzz;
mod graphql_js;
mod grpc;
mod hostile_clients;
mod http2;
mod images;
mod installation;
mod interface;
mod json;
mod kube_api;
mod layers;
mod metadata;
mod metrics;
mod mirror;
mod mirror_runs;
mod mirror_sets;
mod monitoring;
mod operations;
mod plan;
mod preview;
mod probes;
mod pushes;
mod queries;
mod readme;
mod release;
mod reload;
mod remote_git;
mod remote_git_hostile;
mod remote_hostile;
mod remote_sources;
mod replicas;
mod sbom;
mod serve;
mod serve_images;
mod served;
mod shared_store;
mod sizing;
mod solving;
mod streams;
mod support;
mod support_bundle;
mod swaps;
mod tls;
mod traces;
mod upgrade_plan;
mod upstream_links;
mod validate;
mod walks;
mod walkthroughs;
mod websockets;
