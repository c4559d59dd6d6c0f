//! What tests and benches of several crates need: catalogs from one string, archives, layouts, a real registry and a
//! proxy in front of it. No crate but for its tests may depend on it.

mod archive;
pub mod corpus;
pub mod fixture;
mod folders;
pub mod generate;
mod http;
pub mod image;
mod layout;
mod proxy;
pub mod random;
mod registry;
mod seeded;
mod wait;

pub use archive::Archive;
pub use folders::Folders;
pub use http::{Answer, ask, exchange};
pub use layout::{CONFIGS, Layout, digest};
pub use proxy::{Act, Asked, Proxy, answer};
pub use registry::{CONFIGS_LABEL, Pushed, Registry, Types, program, tar};
pub use seeded::Seeded;
pub use wait::{TOO_LONG, eventually};
