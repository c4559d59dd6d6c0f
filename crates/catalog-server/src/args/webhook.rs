//! Flags of webhooks.

use std::path::PathBuf;

use clap::ValueHint;
use webhooks::{WebhookUrl, parse_webhook_url};

/// Flags of webhooks.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Webhooks")]
pub struct WebhookArgs {
    /// Address that receives each change of a catalog, as a signed `CloudEvents` event by `POST`, such
    /// as `https://hooks.example.com/catalogs`. May be repeated [default: none]
    #[arg(long, value_name = "URL", value_parser = parse_webhook_url, requires = "webhook_secret_file")]
    pub webhook: Vec<WebhookUrl>,
    /// File with the secret by which webhooks verify events: 24 to 512 bytes, or `whsec_` and as many
    /// in base64. It is read for each event, so that it can be replaced
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub webhook_secret_file: Option<PathBuf>,
}
