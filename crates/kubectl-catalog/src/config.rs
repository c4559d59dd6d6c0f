//! The configuration file of a user, which names servers where the command line names none.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use catalogql_client::current_context;
use commands::{CommandError, ExitStatus};
use serde::Deserialize;

use crate::args::{CommonArgs, Via};
use crate::context::{cluster_options, folder};

/// Variables of the environment that name the folder of configurations, and where the file is below
/// each.
const FILES: [(&str, &str); 3] = [
    ("XDG_CONFIG_HOME", "catalogql/config.yaml"),
    ("HOME", ".config/catalogql/config.yaml"),
    ("APPDATA", "catalogql/config.yaml"),
];

/// Configuration file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ConfigurationFile {
    /// URL of the server, for contexts that are not named.
    server: Option<String>,
    /// Settings of contexts of the kubeconfig file, by their names.
    contexts: BTreeMap<String, ContextConfiguration>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ContextConfiguration {
    /// URL of the server; the one of the cluster is looked for when absent.
    server: Option<String>,
}

/// Names the server that the environment or else the file names, unless the command line says how
/// it is reached.
pub(crate) fn complete(args: &mut CommonArgs) -> Result<(), CommandError> {
    args.read_variables();
    if args.server.is_some() || !matches!(args.via, Via::Auto | Via::Direct) {
        return Ok(());
    }
    let Some(path) = folder(&FILES) else {
        return Ok(());
    };
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read.map_err(|error| unreadable(&path, &error.to_string()))?,
    };
    let configuration: ConfigurationFile = serde_saphyr::from_str(&text).map_err(|error| {
        unreadable(
            &path,
            &error.without_snippet().to_string().replace('\n', " "),
        )
    })?;
    let context = if configuration.contexts.is_empty() {
        None
    } else {
        current_context(&cluster_options(args))
    };
    args.server = match context.and_then(|context| configuration.contexts.get(&context)) {
        Some(context) => context.server.clone(),
        None => configuration.server,
    };
    Ok(())
}

fn unreadable(path: &Path, reason: &str) -> CommandError {
    CommandError::new(
        ExitStatus::Usage,
        format!("cannot read {}: {reason}", path.display()),
    )
    .hint("its keys are `server` and `contexts`, which has names of contexts with a `server` each")
}
