//! Names of catalogs and channels on the command line that the server does not know. Requests are
//! sent only if an answer does not show that the names exist. It knows nothing of commands.

use catalogql_client::Error;
use printing::text;
use serde_json::{Value, json};

use crate::context::CommandContext;
use crate::documents::{CHANNELS, SERVED};
use crate::error::{CommandError, ExitStatus};

impl CommandContext {
    /// Fails if one of these catalogs is not served. Sends no request if there are no names.
    pub(crate) async fn check_catalogs(&self, names: &[String]) -> Result<(), CommandError> {
        if names.is_empty() {
            return Ok(());
        }
        let data = match self.client.execute(SERVED, &Value::Null).await {
            // Offline, the names may be unknown.
            Err(Error::NotCached) => return Ok(()),
            response => response?.data,
        };
        let catalogs = data["catalogs"].as_array().into_iter().flatten();
        let served: Vec<_> = catalogs.map(|catalog| text(catalog, "/name")).collect();
        let Some(unknown) = names.iter().find(|name| !served.contains(name)) else {
            return Ok(());
        };
        let failure = CommandError::new(
            ExitStatus::NotFound,
            format!("no catalog `{unknown}` is served"),
        );
        Err(if served.is_empty() {
            failure.hint("the server has no catalogs")
        } else {
            failure.hint(format!("the served catalogs are {}", served.join(", ")))
        })
    }

    /// Fails if a package, as NAME or CATALOG/NAME, does not have one of these channels. `found` is
    /// what was found in them: sends a request only if that does not show each channel.
    pub(crate) async fn check_channels(
        &self,
        package: &str,
        channels: &[String],
        found: &[Value],
    ) -> Result<(), CommandError> {
        let is_shown = |channel: &String| {
            let names = found
                .iter()
                .filter_map(|item| item["channelNames"].as_array())
                .flatten();
            let is_named = names.filter_map(Value::as_str).any(|name| name == channel);
            is_named || (channels.len() == 1 && !found.is_empty())
        };
        if channels.iter().all(is_shown) {
            return Ok(());
        }
        let (catalogs, name) = self.split(package);
        let packages = self
            .walk_all(
                CHANNELS,
                json!({ "catalogs": catalogs, "names": [name] }),
                "/packages",
            )
            .await?;
        if packages.is_empty() {
            return Err(self.no_package(package).await);
        }
        let all = packages
            .iter()
            .filter_map(|package| package["channels"].as_array())
            .flatten();
        let mut known: Vec<_> = all.map(|channel| text(channel, "/name")).collect();
        known.sort();
        known.dedup();
        match channels.iter().find(|channel| !known.contains(channel)) {
            Some(unknown) => Err(no_channel(name, unknown, &known)),
            None => Ok(()),
        }
    }
}

/// The failure of a channel that a package does not have, with those that it has.
pub(crate) fn no_channel(package: &str, channel: &str, known: &[String]) -> CommandError {
    let message = format!("package `{package}` has no channel `{channel}`");
    CommandError::new(ExitStatus::NotFound, message)
        .hint(format!("its channels are {}", known.join(", ")))
}
