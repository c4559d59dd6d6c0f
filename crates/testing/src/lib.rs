//! Support for the tests and benches of several crates: catalogs from one string, archives, image
//! layouts, a real registry and a proxy in front of it, a real control plane of Kubernetes. Other
//! crates may depend on it for their tests alone.

mod archive;
mod control_plane;
pub mod corpus;
pub mod drawing;
pub mod fixture;
mod folders;
pub mod generate;
mod git_pack;
pub mod golden;
mod http;
pub mod image;
pub mod interface;
mod kubelet;
mod layout;
mod link;
pub mod names;
mod proxy;
pub mod random;
mod registry;
mod seeded;
mod skipped;
mod tools;
mod wait;
mod web_socket;

pub use archive::Archive;
pub use control_plane::{ControlPlane, KubectlOutput};
pub use folders::Folders;
pub use git_pack::GitPack;
pub use http::{HttpResponse, exchange, send_request};
pub use kubelet::Kubelet;
pub use layout::{CONFIGS, Layout, digest};
pub use link::Link;
pub use proxy::{Proxy, ProxyAction, RecordedRequest, respond};
pub use registry::{
    ArtifactLayer, CONFIGS_LABEL, MediaTypes, Registry, RegistryImage, fixed_port, tar_archive,
    tool_command,
};
pub use seeded::SeededRandom;
pub use skipped::report_skipped;
pub use tools::{control_plane_tools, deploy_tools, grpc_tools, informer};
pub use wait::{TEST_TIMEOUT, eventually, eventually_within, pause};
pub use web_socket::{WebSocketClient, WebSocketMessage};
