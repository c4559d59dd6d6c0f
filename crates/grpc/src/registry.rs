//! The calls about one catalog: the items that each finds, their order, and the errors.

use std::sync::Arc;

use fbc::{
    Bundle, CUSTOM_NAME_RULE, Catalog, Channel, ChannelEntry, GroupVersionKind, Head, Package,
    TYPED_SCHEMAS, is_custom_name,
};
use fbc_grammar::{Digest, go_quote};
use fbc_read::Severity;
use prost::Message as _;
use serving::{BoundedCache, Served};
use tonic::Status;

use crate::bundle::{BundleForm, bundle_message};
use crate::custom_schemas::to_struct;
use crate::message::ResponseMessage;
use crate::package::EntryMatch;
use crate::proto::{
    GetAllReplacementsRequest, GetBundleInChannelRequest, GetBundleRequest, GetPackageRequest,
    GetProvidersRequest, GetReplacementRequest, ListCustomSchemasRequest,
};

/// The messages of a response. Each is made when the client takes it.
pub(crate) type Messages = Box<dyn Iterator<Item = ResponseMessage> + Send>;

/// Memory of a cached bundle in bytes, besides its message.
const BYTES_PER_CACHED_BUNDLE: usize = 200;

/// Encoded bundles with their manifests, by the digest of their content and the index of their
/// channel entry. Reading one from its lines takes several times as long as sending it.
pub(crate) type BundleCache = BoundedCache<(Digest, usize), Vec<u8>>;

/// The catalog of a call.
pub(crate) struct Registry {
    pub(crate) served: Arc<Served>,
    pub(crate) bundles: Arc<BundleCache>,
}

impl Registry {
    pub(crate) fn list_packages(&self) -> Messages {
        let served = Arc::clone(&self.served);
        Box::new((0..self.catalog().packages().len()).filter_map(move |at| {
            let is_absent = !is_shown(served.content.catalog.package_at(at));
            if is_absent {
                None
            } else {
                Some(ResponseMessage::PackageName(Arc::clone(&served), at))
            }
        }))
    }

    pub(crate) fn get_package(&self, request: &GetPackageRequest) -> Result<Messages, Status> {
        let package = self.package(&request.name)?;
        Ok(one(ResponseMessage::Package(
            Arc::clone(&self.served),
            package.place(),
        )))
    }

    pub(crate) fn get_bundle(&self, request: &GetBundleRequest) -> Result<Messages, Status> {
        let channel = self.channel(&request.pkg_name, &request.channel_name)?;
        let name = request.csv_name.as_str();
        let entry = channel
            .package()
            .bundle(name)
            .and_then(|bundle| entry_in(channel, bundle));
        let entry = entry.ok_or_else(|| {
            let package = go_quote(&request.pkg_name);
            let channel = go_quote(&request.channel_name);
            Status::unknown(format!(
                "package {package}, channel {channel}, bundle {} not found",
                go_quote(name)
            ))
        })?;
        Ok(self.bundle(entry))
    }

    pub(crate) fn get_bundle_for_channel(
        &self,
        request: &GetBundleInChannelRequest,
    ) -> Result<Messages, Status> {
        let channel = self.channel(&request.pkg_name, &request.channel_name)?;
        let Head::One(head) = channel.head() else {
            return Err(channel_not_found(&request.pkg_name, channel.name()));
        };
        Ok(self.bundle(head))
    }

    pub(crate) fn get_bundle_that_replaces(
        &self,
        request: &GetReplacementRequest,
    ) -> Result<Messages, Status> {
        let GetReplacementRequest {
            csv_name: name,
            pkg_name: package,
            channel_name: channel,
        } = request;
        let found = self
            .package(package)
            .map_err(|_| Status::unknown(format!("package {package} not found")))?;
        let channel = found
            .channel(channel)
            .ok_or_else(|| channel_not_found(package, channel))?;
        let replacing = channel
            .entries()
            .filter(|entry| replaces(*entry) == name || entry.skips().any(|skip| skip == name));
        // The bundles of a package are sorted by descending version, then by name.
        let best = replacing
            .filter_map(|entry| Some((entry.bundle()?.place(), entry)))
            .min_by_key(|(place, _)| *place);
        let (_, entry) = best.ok_or_else(|| {
            let package = go_quote(package);
            let channel = go_quote(channel.name());
            Status::unknown(format!(
                "no entry found for package {package}, channel {channel}"
            ))
        })?;
        Ok(self.bundle(entry))
    }

    pub(crate) fn get_channel_entries_that_replace(
        &self,
        request: &GetAllReplacementsRequest,
    ) -> Result<Messages, Status> {
        let name = request.csv_name.as_str();
        let matches = self.entries(|entry, found| {
            if replaces(entry) == name {
                found(None);
            } else {
                entry
                    .skips()
                    .filter(|skip| *skip == name)
                    .for_each(|_| found(None));
            }
        });
        if matches.is_empty() {
            return Err(Status::unknown(format!(
                "no channel entries found that replace {name}"
            )));
        }
        Ok(self.found(matches))
    }

    pub(crate) fn get_channel_entries_that_provide(
        &self,
        request: &GetProvidersRequest,
    ) -> Result<Messages, Status> {
        let api = api(request);
        let matches = self.entries(|entry, found| {
            if provides(entry, api) {
                found(None);
                let skips = entry
                    .skips()
                    .enumerate()
                    .filter(|(_, skip)| *skip != replaces(entry));
                skips.for_each(|(at, _)| found(Some(at)));
            }
        });
        if matches.is_empty() {
            return Err(none_provides("no channel entries found that provide", api));
        }
        Ok(self.found(matches))
    }

    pub(crate) fn get_latest_channel_entries_that_provide(
        &self,
        request: &GetProvidersRequest,
    ) -> Result<Messages, Status> {
        let api = api(request);
        let matches = self.entries(|entry, found| {
            if is_head(entry) && provides(entry, api) {
                found(None);
                let is_in_channel = |name: &str| {
                    let bundle = entry.channel().package().bundle(name);
                    bundle.is_some_and(|bundle| entry_in(entry.channel(), bundle).is_some())
                };
                let skips = entry.skips().enumerate();
                let skips =
                    skips.filter(|(_, skip)| *skip != replaces(entry) && is_in_channel(skip));
                skips.for_each(|(at, _)| found(Some(at)));
            }
        });
        if matches.is_empty() {
            return Err(none_provides("no channel entries found that provide", api));
        }
        Ok(self.found(matches))
    }

    pub(crate) fn get_default_bundle_that_provides(
        &self,
        request: &GetProvidersRequest,
    ) -> Result<Messages, Status> {
        let api = api(request);
        let heads = self.entries(|entry, found| {
            if is_head(entry) && provides(entry, api) {
                found(None);
            }
        });
        if heads.is_empty() {
            return Err(none_provides("no channel entries found that provide", api));
        }
        let mut heads = heads
            .into_iter()
            .map(|found| self.catalog().entry_at(found.entry));
        let head = heads.find(|entry| entry.channel().is_default());
        head.map(|entry| self.bundle(entry))
            .ok_or_else(|| none_provides("no entry found that provides", api))
    }

    /// Lists bundles by channel, then by package, then by name.
    pub(crate) fn list_bundles(&self) -> Messages {
        let catalog = self.catalog();
        // Upstream's order is random; a fixed one lets clients compare two responses.
        let mut channels: Vec<_> = shown(catalog).flat_map(Package::channels).collect();
        // Those of one name stay sorted by package.
        channels.sort_by_key(|channel| channel.name());
        let mut ranges = Vec::with_capacity(channels.len());
        for channel in channels {
            ranges.extend(
                channel
                    .entries()
                    .next()
                    .map(|first| first.place()..first.place() + channel.entries().len()),
            );
        }
        let served = Arc::clone(&self.served);
        let entries = ranges.into_iter().flat_map(move |range| {
            let mut entries: Vec<_> = range.collect();
            entries.sort_unstable_by_key(|at| served.content.catalog.entry_at(*at).name());
            let served = Arc::clone(&served);
            entries
                .into_iter()
                .map(move |at| ResponseMessage::Bundle(Arc::clone(&served), at))
        });
        Box::new(entries)
    }

    pub(crate) fn list_custom_schemas(
        &self,
        request: ListCustomSchemasRequest,
    ) -> Result<Messages, Status> {
        let schema = request.schema;
        let package = request.package_name;
        if schema.is_empty() {
            return Err(Status::invalid_argument("schema is required"));
        }
        for (field, name) in [("schema", &schema), ("packageName", &package)] {
            if !is_custom_name(name) && !name.is_empty() {
                let name = go_quote(name);
                let text = format!(
                    "invalid custom schema query: invalid {field} {name}: must match {CUSTOM_NAME_RULE}"
                );
                return Err(Status::invalid_argument(text));
            }
        }
        let is_typed = TYPED_SCHEMAS.contains(&schema.as_str());
        let served = Arc::clone(&self.served);
        let count = if is_typed {
            0
        } else {
            self.catalog().meta_count()
        };
        Ok(Box::new((0..count).filter_map(move |at| {
            let blob = served.content.catalog.meta_at(at);
            let is_wanted =
                blob.schema() == schema && blob.package_name().unwrap_or_default() == package;
            let message = if is_wanted { to_struct(blob) } else { None };
            message.map(|message| ResponseMessage::new(&message))
        })))
    }

    fn catalog(&self) -> &Catalog {
        &self.served.content.catalog
    }

    fn package(&self, name: &str) -> Result<Package<'_>, Status> {
        let package = self
            .catalog()
            .package(name)
            .filter(|package| is_shown(*package));
        package.ok_or_else(|| Status::unknown(format!("package {} not found", go_quote(name))))
    }

    fn channel(&self, package: &str, name: &str) -> Result<Channel<'_>, Status> {
        self.package(package)?
            .channel(name)
            .ok_or_else(|| channel_not_found(package, name))
    }

    fn bundle(&self, entry: ChannelEntry<'_>) -> Messages {
        // By content, so that catalogs with equal contents share entries, and none is ever stale.
        let key = (self.served.content.digest, entry.place());
        let bundle = self.bundles.get(&key).unwrap_or_else(|| {
            let message = Arc::new(
                bundle_message(self.catalog(), entry, BundleForm::Fetched).encode_to_vec(),
            );
            self.bundles
                .insert(key, &message, message.len() + BYTES_PER_CACHED_BUNDLE);
            message
        });
        one(ResponseMessage::Cached(bundle))
    }

    fn found(&self, matches: Vec<EntryMatch>) -> Messages {
        let served = Arc::clone(&self.served);
        Box::new(
            matches
                .into_iter()
                .map(move |found| ResponseMessage::Entry(Arc::clone(&served), found)),
        )
    }

    /// Finds entries, sorted by package, channel and name. `find` reports each entry as often as it
    /// is to be listed.
    fn entries(
        &self,
        mut find: impl FnMut(ChannelEntry<'_>, &mut dyn FnMut(Option<usize>)),
    ) -> Vec<EntryMatch> {
        let mut matches = Vec::new();
        for channel in shown(self.catalog()).flat_map(Package::channels) {
            let before = matches.len();
            for entry in channel.entries() {
                let at = entry.place();
                find(entry, &mut |skip| {
                    matches.push(EntryMatch { entry: at, skip });
                });
            }
            matches[before..].sort_by_key(|found| self.catalog().entry_at(found.entry).name());
        }
        matches
    }
}

/// Returns whether a package is shown. Upstream refuses a whole catalog for a package with an
/// error; here only that package is absent.
fn is_shown(package: Package<'_>) -> bool {
    let can_be_shown = |bundle: Bundle<'_>| !bundle.has_several_metadata();
    !package.problem_counts().has_at_least(Severity::Error) && package.bundles().all(can_be_shown)
}

fn shown(catalog: &Catalog) -> impl Iterator<Item = Package<'_>> {
    catalog.packages().filter(|package| is_shown(*package))
}

/// Returns the name that an entry replaces; empty without one.
fn replaces(entry: ChannelEntry<'_>) -> &str {
    entry.replaces().unwrap_or_default()
}

/// Returns the entry of a bundle in a channel.
fn entry_in<'a>(channel: Channel<'a>, bundle: Bundle<'a>) -> Option<ChannelEntry<'a>> {
    bundle
        .channel_entries()
        .find(|entry| entry.channel().name() == channel.name())
}

fn is_head(entry: ChannelEntry<'_>) -> bool {
    matches!(entry.channel().head(), Head::One(head) if head.place() == entry.place())
}

fn provides(entry: ChannelEntry<'_>, api: GroupVersionKind<'_>) -> bool {
    entry
        .bundle()
        .is_some_and(|bundle| bundle.provided_apis().any(|other| other == api))
}

fn api(request: &GetProvidersRequest) -> GroupVersionKind<'_> {
    GroupVersionKind {
        group: &request.group,
        version: &request.version,
        kind: &request.kind,
    }
}

fn one(message: ResponseMessage) -> Messages {
    Box::new(std::iter::once(message))
}

fn channel_not_found(package: &str, channel: &str) -> Status {
    Status::unknown(format!(
        "package {}, channel {} not found",
        go_quote(package),
        go_quote(channel)
    ))
}

fn none_provides(what: &str, api: GroupVersionKind<'_>) -> Status {
    let [group, version, kind] = [api.group, api.version, api.kind].map(go_quote);
    Status::unknown(format!(
        "{what} group:{group} version:{version} kind:{kind}"
    ))
}
