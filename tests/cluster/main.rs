//! Tests of the controller against a real API server and a real registry; a module is named for
//! what it is about.

mod access;
mod browser;
mod chaos;
mod chart;
mod conditions;
mod control_plane;
mod edits;
mod grpc_access;
mod image_policies;
mod informer;
mod kube_access;
mod kube_api;
mod kube_replicas;
mod lifecycle;
mod manifests;
mod metrics;
mod network;
mod outages;
mod previews;
mod prometheus;
mod replicas;
mod rights;
mod sources;
mod support;
mod upstream;
mod validation;
