//! `catalogql support-bundle`: collects what a server says of itself, and writes the archive.

mod archive;
mod redaction;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, bail};
use commands::ExitStatus;
use jiff::Timestamp;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use printing::{ignore_closed_pipe, stdout, warning};
use remote_sources::{Fetch, FetchLimits, Fetched, HttpClient, HttpSettings, RemoteReference};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use self::archive::{MAX_FILE_BYTES, STATUS_DOCUMENT, SupportBundle, read_last_lines};
use self::redaction::{redacted_arguments, redacted_variables};
use super::once;
use super::registries::read_http_auth;
use crate::args::SupportBundleArgs;

/// Time after which a server that does not answer is given up.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Collects and writes the archive. The exit status is 1 if something could not be collected.
pub(super) fn support_bundle(args: &SupportBundleArgs) -> anyhow::Result<ExitCode> {
    let now = Timestamp::now();
    let folder = now.strftime("catalogql-support-%Y%m%dT%H%M%SZ").to_string();
    let path = match &args.to {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{folder}.tar.gz")),
    };
    let bundle = collect(args)?;

    let created = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path);
    let written = created.and_then(|file| bundle.write(file, &folder, now));
    written.with_context(|| format!("cannot write `{}`", path.display()))?;

    for missing in bundle.missing() {
        eprintln!("{} {missing}", warning());
    }
    ignore_closed_pipe(print(&bundle, &path))?;
    Ok(ExitStatus::negative_if(!bundle.missing().is_empty()).into())
}

fn print(bundle: &SupportBundle, path: &Path) -> io::Result<()> {
    let mut out = stdout();
    for (name, bytes) in bundle.contents() {
        writeln!(out, "{name}: {bytes} bytes")?;
    }
    writeln!(out, "wrote {}: read it before you send it", path.display())
}

fn collect(args: &SupportBundleArgs) -> anyhow::Result<SupportBundle> {
    let mut bundle = SupportBundle::default();
    bundle.add(
        "client.txt",
        &format!("catalogql {}\n", build_info::VERSION),
    );

    let server = ServerReader::new(args)?;
    let base = args.server.trim_end_matches('/');
    let query = utf8_percent_encode(STATUS_DOCUMENT, NON_ALPHANUMERIC);
    let urls = [
        ("version.json", format!("{base}/version")),
        ("ready.txt", format!("{base}/readyz?verbose")),
        ("status.json", format!("{base}/graphql?query={query}")),
    ];
    for (name, url) in urls {
        match server.get(&url) {
            Ok(text) => bundle.add(name, &text),
            Err(failure) => bundle.add_missing(name, &format!("{failure:#}")),
        }
    }

    match &args.metrics {
        None => bundle.add_missing("metrics.txt", "no --metrics is given"),
        Some(url) => match server.get(&metrics_url(url)) {
            Ok(text) => bundle.add_metrics("", &text),
            Err(failure) => bundle.add_missing("metrics.txt", &format!("{failure:#}")),
        },
    }

    match args.log.as_deref().map(read_log) {
        None => bundle.add_missing("log.txt", "no --log is given"),
        Some(Ok(text)) => bundle.add("log.txt", &text),
        Some(Err(failure)) => bundle.add_missing("log.txt", &format!("{failure:#}")),
    }

    if let Some(path) = &args.server_config {
        match read_config(path) {
            Ok(text) => bundle.add("config.yaml", &text),
            Err(failure) => bundle.add_missing("config.yaml", &format!("{failure:#}")),
        }
    }

    if let Some(pid) = args.pid {
        match read_flags(pid) {
            Ok(text) => bundle.add("flags.txt", &text),
            Err(failure) => bundle.add_missing("flags.txt", &format!("{failure:#}")),
        }
    }
    Ok(bundle)
}

/// Returns the URL of metrics, whose path is `/metrics` unless the user gives another one.
fn metrics_url(url: &str) -> String {
    let has_path = url
        .split_once("://")
        .is_some_and(|(_, rest)| rest.trim_end_matches('/').contains('/'));
    if has_path {
        url.to_owned()
    } else {
        format!("{}/metrics", url.trim_end_matches('/'))
    }
}

fn read_log(path: &Path) -> anyhow::Result<String> {
    if path == Path::new("-") {
        return read_last_lines(io::stdin().lock()).context("cannot read the standard input");
    }
    let shown = path.display();
    let file = File::open(path).with_context(|| format!("cannot open `{shown}`"))?;
    read_last_lines(file).with_context(|| format!("cannot read `{shown}`"))
}

fn read_config(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))
}

/// Reads the command line of a process, and its environment variables that set flags.
fn read_flags(pid: u32) -> anyhow::Result<String> {
    let read = |file: &str| {
        let path = format!("/proc/{pid}/{file}");
        let bytes = fs::read(&path).with_context(|| format!("cannot read `{path}`"))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let values = text.split_terminator('\0').map(str::to_owned);
        anyhow::Ok(values.collect::<Vec<_>>())
    };
    let arguments = read("cmdline")?;
    if !arguments
        .first()
        .is_some_and(|name| name.ends_with("catalogql"))
    {
        bail!("the process {pid} is not catalogql");
    }
    let variables = read("environ")?;
    Ok(redacted_arguments(&arguments) + &redacted_variables(&variables))
}

/// Reads texts from a server.
struct ServerReader {
    client: HttpClient,
    runtime: Runtime,
    scratch: TempDir,
}

impl ServerReader {
    fn new(args: &SupportBundleArgs) -> anyhow::Result<Self> {
        let mut settings = HttpSettings {
            limits: FetchLimits {
                connect_timeout: TIMEOUT,
                silence: TIMEOUT,
                total: TIMEOUT,
                body_bytes: MAX_FILE_BYTES as u64,
                attempts: 1,
                ..FetchLimits::default()
            },
            ..HttpSettings::default()
        };
        if let Some(path) = &args.http_auth {
            settings.auth = read_http_auth(path)?;
        }
        if let Some(path) = &args.certificate_authority {
            let pem = fs::read_to_string(path)
                .with_context(|| format!("cannot read `{}`", path.display()))?;
            settings.authorities.push(pem);
        }
        // The user has written `http://`.
        for url in [Some(&args.server), args.metrics.as_ref()]
            .into_iter()
            .flatten()
        {
            if let Some(rest) = url.strip_prefix("http://") {
                let host = rest.split('/').next().unwrap_or_default();
                settings.insecure.push(host.to_owned());
            }
        }
        Ok(Self {
            client: HttpClient::new(settings)?,
            runtime: once::runtime()?,
            scratch: tempfile::tempdir()?,
        })
    }

    fn get(&self, url: &str) -> anyhow::Result<String> {
        let reference = match RemoteReference::parse(url) {
            Some(reference) => reference?,
            None => bail!("`{url}` is no URL: write http://HOST:PORT or https://HOST"),
        };
        let path = self.scratch.path().join("response");
        let fetch = Fetch {
            reference: &reference,
            known: None,
            path: &path,
            instance: None,
        };
        let fetched = self.runtime.block_on(self.client.fetch(fetch, |_, _| ()))?;
        let Fetched::Downloaded(download) = fetched else {
            bail!("the server sent no content");
        };
        let bytes = fs::read(&download.path)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_metrics_is_added_to_a_url_that_has_none() {
        let cases = [
            ("http://127.0.0.1:9090", "http://127.0.0.1:9090/metrics"),
            ("http://127.0.0.1:9090/", "http://127.0.0.1:9090/metrics"),
            ("https://h/a/metrics", "https://h/a/metrics"),
        ];
        for (url, expected) in cases {
            assert_eq!(metrics_url(url), expected);
        }
    }
}
