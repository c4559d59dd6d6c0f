//! The configuration of `catalogql serve`: read from the command line and the files that it names,
//! at the start and at each reload.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{anyhow, bail};
use bundle_images::BundleImages;
use catalog_server::args::{EditableArg, GrpcAddress};
use loading::{CatalogSpec, PollPolicy, RefreshPolicy, Source, WatchInterval};
use local_commands::run::registries::{
    HttpAccess, RegistryAccess, SourceClients, needs_http, needs_registry,
};
use local_commands::run::sources::{self, CatalogEntry};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::args::{FileFlags, ServeArgs};

/// Interval between two polls of the configuration file, with `--watch`.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);

/// The configuration of a server, which can be read again.
pub(super) struct CatalogConfiguration {
    args: ServeArgs,
    /// The folder of the store, which no catalog may contain.
    store: PathBuf,
    registries: RegistryAccess,
    http: HttpAccess,
    /// Fetches manifests for requests; `None` until the first reading, and without the flag.
    bundle_images: Option<BundleImages>,
}

/// Triggers reloads of the configuration: on SIGHUP, and with `--watch` when its file changes.
pub(super) struct ReloadTrigger {
    hangup: Signal,
    watched: Option<PathBuf>,
    polls: Interval,
    /// Modification time and size of the file when it was last polled.
    last: Option<(SystemTime, u64)>,
}

impl CatalogConfiguration {
    pub(super) fn new(args: ServeArgs, store: PathBuf) -> Self {
        Self {
            args,
            store,
            registries: RegistryAccess::default(),
            http: HttpAccess::default(),
            bundle_images: None,
        }
    }

    /// Returns what fetches manifests for requests, with the settings for registries that were read
    /// last; `None` without the flag.
    pub(super) fn bundle_images(&self) -> Option<BundleImages> {
        self.bundle_images.clone()
    }

    /// Returns the flags of the command.
    pub(super) fn args(&self) -> &ServeArgs {
        &self.args
    }

    /// Reads all files again, as [`CatalogConfiguration::read`] does, and warns of flags that wait
    /// for a restart.
    pub(super) fn reload(&mut self) -> anyhow::Result<Vec<CatalogSpec>> {
        let flags = FileFlags::read_again().map_err(|error| anyhow!("{}", message(&error)))?;
        let specs = self.read()?;
        let changed = flags.changed_members(&self.args.file_flags);
        if !changed.is_empty() {
            tracing::warn!(
                flags = changed.join(", "),
                "flags of the configuration file have changed, restart to apply them"
            );
        }
        Ok(specs)
    }

    /// Reads all files and returns the wanted catalogs.
    pub(super) fn read(&mut self) -> anyhow::Result<Vec<CatalogSpec>> {
        let Self {
            args,
            store,
            registries,
            http,
            bundle_images,
        } = self;
        let editable = args
            .editable
            .iter()
            .map(|EditableArg { name, directory }| format!("{name}=dir:{}", directory.display()));
        let named: Vec<_> = args.sources.iter().cloned().chain(editable).collect();
        let entries = sources::catalogs(
            &named,
            args.config.as_deref(),
            args.images.configs_dir.as_deref(),
        )?;
        for entry in &entries {
            refuse_file(&entry.reference.source)?;
        }
        let needs_registry = args.server.bundle_images
            || needs_registry(entries.iter().map(|entry| &entry.reference.source));
        let registries = registries.update(&args.images.registries, needs_registry)?;
        let needs_http = needs_http(entries.iter().map(|entry| &entry.reference.source));
        let http = http.update(&args.images, needs_http)?;
        if args.server.bundle_images {
            let create = || BundleImages::new(registries.clone(), store);
            bundle_images
                .get_or_insert_with(create)
                .set_registries(registries.clone());
        }
        for entry in &entries {
            refuse_store_in_source(store, &entry.reference.source)?;
            for editable in &args.editable {
                refuse_edits_in_source(editable, entry)?;
            }
        }
        let clients = SourceClients { registries, http };
        let spec = |entry: CatalogEntry| {
            let mut refresh = refresh_policy(args, entry.poll_interval);
            if args
                .editable
                .iter()
                .any(|editable| editable.name == entry.name.as_str())
            {
                refresh.directories = Some(WatchInterval::default());
            }
            let source = entry.reference.spec(refresh, &clients);
            CatalogSpec {
                name: entry.name,
                source,
                metadata: entry.metadata,
                policy_withdraws: entry
                    .policy_withdraws
                    .unwrap_or(args.server.policy_withdraws),
            }
        };
        Ok(entries.into_iter().map(spec).collect())
    }
}

impl ReloadTrigger {
    pub(super) fn new(args: &ServeArgs) -> std::io::Result<Self> {
        let watched = args.config.clone().filter(|_| args.watch);
        let mut polls = interval(WATCH_INTERVAL);
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let last = watched.as_deref().and_then(stamp);
        Ok(Self {
            hangup: signal(SignalKind::hangup())?,
            watched,
            polls,
            last,
        })
    }

    /// Waits for the next reload. It is safe to cancel.
    pub(super) async fn triggered(&mut self) {
        loop {
            tokio::select! {
                _ = self.hangup.recv() => return,
                _ = self.polls.tick(), if self.watched.is_some() => {
                    let now = self.watched.as_deref().and_then(stamp);
                    // A file that is being replaced may be missing for a moment.
                    if now.is_some() && now != self.last {
                        self.last = now;
                        return;
                    }
                }
            }
        }
    }
}

/// Returns the text of an error of clap without its prefix `error:`.
fn message(error: &clap::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ")
        .unwrap_or(&text)
        .trim_end()
        .to_owned()
}

fn stamp(path: &Path) -> Option<(SystemTime, u64)> {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Returns the refresh policy of a catalog. `interval` is its own poll interval, which replaces
/// that of the flag.
fn refresh_policy(args: &ServeArgs, interval: Option<Duration>) -> RefreshPolicy {
    let interval = Some(interval.unwrap_or(args.poll)).filter(|interval| !interval.is_zero());
    RefreshPolicy {
        directories: args.watch.then(WatchInterval::default),
        images: Some(PollPolicy {
            interval,
            ..PollPolicy::default()
        }),
    }
}

/// Rejects a source that is a file. It may be a configuration file without its flag.
fn refuse_file(source: &Source) -> anyhow::Result<()> {
    match source {
        Source::Directory(path) if path.is_file() => {
            let file = path.display();
            bail!(
                "`{file}` is a file, not a directory with a catalog: write --config `{file}` if it is a configuration file"
            )
        }
        _ => Ok(()),
    }
}

/// Rejects an address of gRPC for a catalog that is not served: each call would fail.
pub(super) fn refuse_unknown_catalogs(
    addresses: &[GrpcAddress],
    served: &[CatalogSpec],
) -> anyhow::Result<()> {
    // The catalogs of a server are not known yet.
    if served.iter().any(|spec| spec.source.source.is_server()) {
        return Ok(());
    }
    let served: Vec<_> = served.iter().map(|spec| spec.name.as_str()).collect();
    for address in addresses {
        let name = address.catalog.as_deref();
        if let Some(name) = name.filter(|name| !served.contains(name)) {
            bail!(
                "cannot serve `{name}` on the address `{}` of --grpc: no catalog has this name, those that are served are {}",
                address.listen,
                served.join(", ")
            );
        }
    }
    Ok(())
}

/// Rejects a source that contains the store, whose files would be read as a part of the catalog.
fn refuse_store_in_source(store: &Path, source: &Source) -> anyhow::Result<()> {
    let Source::Directory(root) = source else {
        return Ok(());
    };
    let store = std::path::absolute(store)?;
    if store.starts_with(root) {
        let store = store.display();
        let root = root.display();
        bail!("the store `{store}` lies in the catalog `{root}`: name another folder with --store");
    }
    Ok(())
}

/// Rejects a catalog with the folder that contains an editable directory: temporary files and the
/// journal of edits would be files of the catalog.
fn refuse_edits_in_source(editable: &EditableArg, entry: &CatalogEntry) -> anyhow::Result<()> {
    let Source::Directory(root) = &entry.reference.source else {
        return Ok(());
    };
    // What cannot be opened is told when it is locked or listed.
    let (Ok(root), Ok(directory)) = (root.canonicalize(), editable.directory.canonicalize()) else {
        return Ok(());
    };
    if let Some(parent) = directory
        .parent()
        .filter(|parent| parent.starts_with(&root))
    {
        let name = &editable.name;
        let parent = parent.display();
        let root = root.display();
        bail!(
            "cannot let `{name}` be edited: its edits are prepared in `{parent}`, which lies in the catalog `{}` (`{root}`): \
             serve one of them from another directory",
            entry.name
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Args, Command};

    fn policy_of(line: &str, interval: Option<Duration>) -> RefreshPolicy {
        let Command::Serve(args) = Args::parse_from(line.split(' ')).command else {
            panic!("{line}")
        };
        refresh_policy(&args, interval)
    }

    #[test]
    fn images_are_polled_and_directories_are_not_unless_the_flags_say_so() {
        let polling = |interval| {
            Some(PollPolicy {
                interval,
                ..PollPolicy::default()
            })
        };
        let usual = RefreshPolicy {
            directories: None,
            images: Some(PollPolicy::default()),
        };
        assert_eq!(policy_of("catalogql serve a", None), usual);
        assert_eq!(
            policy_of("catalogql serve --watch a", None).directories,
            Some(WatchInterval::default())
        );
        let hour = Duration::from_hours(1);
        assert_eq!(
            policy_of("catalogql serve --poll 1h a", None).images,
            polling(Some(hour))
        );
        assert_eq!(
            policy_of("catalogql serve a", Some(hour)).images,
            polling(Some(hour))
        );
        // Failures are retried all the same.
        assert_eq!(
            policy_of("catalogql serve --poll 0 a", None).images,
            polling(None)
        );
        assert_eq!(
            policy_of("catalogql serve a", Some(Duration::ZERO)).images,
            polling(None)
        );
    }
}
