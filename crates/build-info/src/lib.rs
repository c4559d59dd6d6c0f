//! Version and commit of the build, and identities of the code that reads catalogs and of the code
//! that answers requests. The build script determines them.

use std::env::consts::{ARCH, OS};

use serde::Serialize;

/// Version of the program, with the commit of the build if it is known.
pub const VERSION: &str = env!("CATALOGQL_VERSION");

/// Commit of the build in 12 hexadecimal digits; empty if it is unknown.
pub const COMMIT: &str = env!("CATALOGQL_COMMIT");

/// Identity of the code that reads catalogs: contents that another build stored are read again.
pub const CONTENT_BUILD: &str = env!("CATALOGQL_CONTENT_BUILD");

/// Identity of the code that answers requests: entity tags of another build are not accepted.
pub const ANSWERS_BUILD: &str = env!("CATALOGQL_ANSWERS_BUILD");

/// Build information, as JSON.
#[derive(Serialize)]
pub struct BuildInfo {
    /// Version of the release.
    pub version: &'static str,
    /// In 12 hexadecimal digits; `None` if it is not known.
    pub commit: Option<&'static str>,
    /// Operating system and architecture, as images name them, such as `linux/amd64`.
    pub platform: String,
}

impl BuildInfo {
    /// Returns what this program was built from and for.
    pub fn of_this_program() -> Self {
        let architecture = match ARCH {
            "x86_64" => "amd64",
            "aarch64" => "arm64",
            other => other,
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            commit: Some(COMMIT).filter(|commit| !commit.is_empty()),
            platform: format!("{OS}/{architecture}"),
        }
    }
}
