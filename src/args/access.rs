//! Flags that say who may see which catalogs.

use clap::ValueEnum;

/// Who may see which catalogs.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Access")]
pub struct AccessArgs {
    /// Who may see which catalogs. Metrics have a flag of their own
    #[arg(long, value_name = "WHO", value_enum, default_value_t)]
    pub auth: AuthMode,
    /// Audience that the tokens of callers must be for, with `--auth=delegated`. May be repeated
    /// [default: the API server]
    #[arg(long, value_name = "AUDIENCE")]
    pub token_audience: Vec<String>,
}

/// Who may see which catalogs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum AuthMode {
    /// Everybody who can connect sees every catalog
    #[default]
    None,
    /// Bearers of a token, and everybody else, see the catalogs of which the API server lets them
    /// `get` `clustercatalogs/content`
    Delegated,
}

impl AccessArgs {
    /// Returns whether the API server decides who may see which catalogs.
    pub fn is_delegated(&self) -> bool {
        self.auth == AuthMode::Delegated
    }
}
