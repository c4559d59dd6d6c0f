//! `open`: the address of the explorer, through a forwarded port where the server is in a cluster.

use std::process::{Command, Stdio};

use catalogql_client::ForwardedServer;
use commands::output::{hint, print};
use commands::{CommandError, ExitStatus};

use crate::args::CommonArgs;
use crate::context::{ServerCommand, ServerRoute, cluster_options};
use crate::error::api_server_error;

/// The program that shows a URL to a person.
const BROWSER: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer"
} else {
    "xdg-open"
};

/// Prints the address of the explorer; forwards a port until the program ends if the server is in a
/// cluster.
pub(super) async fn open(
    args: &CommonArgs,
    package: Option<&str>,
    browser: bool,
) -> Result<ExitStatus, CommandError> {
    if let Some(server) = &args.server {
        check_package(args, package).await?;
        let server = server.trim_end_matches('/');
        show(
            server.strip_suffix("/graphql").unwrap_or(server),
            package,
            browser,
        )?;
        return Ok(ExitStatus::Success);
    }
    let forwarded = ForwardedServer::start(&cluster_options(args))
        .await
        .map_err(api_server_error)?;
    if let Some(name) = &forwarded.certificate_name {
        hint(&format!(
            "the certificate of the server is for {name}: a browser asks whether to trust it"
        ));
    }
    let through_port = CommonArgs {
        server: Some(forwarded.url.clone()),
        ..args.clone()
    };
    check_package(&through_port, package).await?;
    hint("the port is forwarded until this program ends: Ctrl-C");
    show(&forwarded.url, package, browser)?;
    std::future::pending().await
}

/// Fails if no catalog of the server has a package. A server that cannot be asked is no error: the
/// browser shows what is wrong with it.
async fn check_package(args: &CommonArgs, package: Option<&str>) -> Result<(), CommandError> {
    let Some(named) = package else {
        return Ok(());
    };
    let Ok(command) = ServerCommand::begin(args, ServerRoute::Direct).await else {
        return Ok(());
    };
    let mut session = command.session;
    let (catalogs, package) = session.split(named);
    let packages = [package.to_owned()];
    session.catalogs = catalogs;
    match session.check_packages(&packages, std::iter::empty()).await {
        Err(error) if error.status == ExitStatus::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn show(server: &str, package: Option<&str>, browser: bool) -> Result<(), CommandError> {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(named) = package {
        let (catalog, package) = named
            .split_once('/')
            .map_or((None, named), |(catalog, name)| (Some(catalog), name));
        query
            .extend_pairs(catalog.map(|catalog| ("catalog", catalog)))
            .append_pair("package", package);
    }
    let query = query.finish();
    let separator = if query.is_empty() { "" } else { "?" };
    let url = format!("{server}/{separator}{query}");
    print(&format!("{url}\n"))?;
    if !browser {
        return Ok(());
    }
    let shown = Command::new(BROWSER)
        .arg(&url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    shown.map(drop).map_err(|error| {
        CommandError::new(
            ExitStatus::Usage,
            format!("cannot run `{BROWSER}`: {error}"),
        )
        .hint("open the printed address yourself")
    })
}
