//! Access flags: which catalogs a caller sees.

use clap::ValueEnum;

/// Access flags of every server.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Access")]
pub struct AccessArgs {
    /// Authorization of requests for catalogs; `--metrics-auth` applies to metrics
    #[arg(long, value_name = "MODE", value_enum, default_value_t)]
    pub auth: AuthMode,
    /// Audience that callers' tokens must have, with `--auth=delegated`. May be repeated [default:
    /// the audience of the API server]
    #[arg(long, value_name = "AUDIENCE")]
    pub token_audience: Vec<String>,
}

/// Authorization mode of requests for catalogs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AuthMode {
    /// No authorization: every caller sees every catalog
    #[default]
    None,
    /// Each caller sees the catalogs for which a `SubjectAccessReview` allows `get` on
    /// `clustercatalogs/content`. Callers without credentials are `system:anonymous`
    Delegated,
}

impl AccessArgs {
    /// Returns whether the API server authorizes requests for catalogs.
    pub fn is_delegated(&self) -> bool {
        self.auth == AuthMode::Delegated
    }
}
