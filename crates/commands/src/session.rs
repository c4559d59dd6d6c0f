//! State of one command: where its requests go, how it prints, and which catalogs it is about;
//! and how names on the command line become objects of the API.

use std::cmp::Reverse;

use printing::text;
use serde_json::{Value, json};

use crate::args::{InstalledArg, SupportArgs, begins_like_version, parse_installed};
use crate::documents::{BUNDLES, CHANNELS, PACKAGE_NAMES, SERVED, SIMILAR_PACKAGES};
use crate::output::{ObjectList, OutputFormat, hint};
use crate::similar::{question, similar_names};
use crate::sorting::ListOrder;
use crate::transport::{GraphqlTransport, ListRequest};
use crate::{CommandError, ExitStatus};

/// A command that runs.
#[derive(Debug)]
pub struct CommandSession<T> {
    /// Executor of the requests.
    pub transport: T,
    /// Format of the output.
    pub output: OutputFormat,
    /// `false` prints tables without their headers.
    pub has_headers: bool,
    /// Names of the selected catalogs; every catalog if empty.
    pub catalogs: Vec<String>,
    /// Maximum number of items of a list that is printed.
    pub limit: usize,
    /// Order of a list that is printed; that of the API if absent.
    pub sort_by: Option<ListOrder>,
    /// Commands that hints name.
    pub help: HelpCommands,
}

/// Commands of a program that hints name.
#[derive(Clone, Copy, Debug)]
pub struct HelpCommands {
    /// Lists catalogs with their digests.
    pub list_catalogs: &'static str,
    /// Lists the bundles of a package.
    pub list_bundles: &'static str,
}

/// Package of one catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenPackage {
    /// Name of the catalog.
    pub catalog: String,
    /// Name of the package.
    pub package: String,
}

impl ChosenPackage {
    /// Returns the name in the form CATALOG/PACKAGE.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.catalog, self.package)
    }
}

impl<T: GraphqlTransport> CommandSession<T> {
    /// Executes a document and returns its data.
    pub async fn data(&self, document: &str, variables: &Value) -> Result<Value, CommandError> {
        self.transport.execute(document, variables).await
    }

    /// Reads a list to its end, or to the limit of the session; a hint says if it was cut.
    pub async fn walk(
        &self,
        document: &'static str,
        variables: Value,
        connection: &'static str,
    ) -> Result<Vec<Value>, CommandError> {
        // The first items of another order may be anywhere.
        if self.sort_by.is_some() {
            return self.walk_all(document, variables, connection).await;
        }
        // The item behind the limit tells that the list is longer, without a request for its length.
        let mut items = self
            .list(ListRequest {
                document,
                variables,
                connection,
                limit: self.limit.saturating_add(1),
            })
            .await?;

        self.cut(&mut items);
        Ok(items)
    }

    /// Cuts a list at the limit of the session; a hint says if it was longer.
    fn cut(&self, items: &mut Vec<Value>) {
        if items.len() > self.limit {
            items.truncate(self.limit);
            hint(&format!(
                "these are the first {}: --limit 0 prints all",
                self.limit
            ));
        }
    }

    /// Sorts a list as the command line says, and prints it.
    pub fn print_list(&self, mut list: ObjectList) -> Result<(), CommandError> {
        if let Some(key) = &self.sort_by {
            list.sort(key)?;
            self.cut(&mut list.items);
        }
        list.print(&self.output, self.has_headers)
    }

    /// As [`Self::walk`], without a limit.
    pub async fn walk_all(
        &self,
        document: &'static str,
        variables: Value,
        connection: &'static str,
    ) -> Result<Vec<Value>, CommandError> {
        self.list(ListRequest {
            document,
            variables,
            connection,
            limit: usize::MAX,
        })
        .await
    }

    /// Reads a list. Fails on an empty list if one of its catalogs is not served.
    pub async fn list(&self, request: ListRequest) -> Result<Vec<Value>, CommandError> {
        let catalogs: Vec<_> = request.variables["catalogs"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect();
        let items = self.transport.list(request).await?;
        if items.is_empty() {
            self.check_catalogs(&catalogs).await?;
        }
        Ok(items)
    }

    /// Splits CATALOG/PACKAGE; returns the catalogs to search and the name of the package.
    pub fn split<'a>(&self, package: &'a str) -> (Vec<String>, &'a str) {
        match package.split_once('/') {
            Some((catalog, package)) => (vec![catalog.to_owned()], package),
            None => (self.catalogs.clone(), package),
        }
    }

    /// Finds the package of this name in the catalog with the highest priority.
    pub async fn choose(&self, package: &str) -> Result<ChosenPackage, CommandError> {
        let (catalogs, name) = self.split(package);
        let variables = json!({ "catalogs": catalogs, "names": [name] });
        let data = self.data(PACKAGE_NAMES, &variables).await?;
        let mut found: Vec<_> = data["packages"]["nodes"]
            .as_array()
            .into_iter()
            .flatten()
            .collect();
        let priority =
            |package: &Value| package["catalog"]["priority"].as_i64().unwrap_or_default();
        found.sort_by_key(|package| Reverse(priority(package)));
        let names: Vec<_> = found
            .iter()
            .map(|package| text(package, "/catalog/name"))
            .collect();

        let Some(first) = found.first() else {
            return Err(self.no_package(package).await);
        };
        let is_ambiguous = found
            .get(1)
            .is_some_and(|second| priority(second) == priority(first));
        if is_ambiguous {
            let message = format!(
                "package `{name}` is in several catalogs of one priority: {}",
                names.join(", ")
            );
            let error = CommandError::new(ExitStatus::NotFound, message);
            return Err(error.hint(format!("write {}/{name}", names[0])));
        }
        if let [chosen, others @ ..] = &names[..]
            && !others.is_empty()
        {
            hint(&format!(
                "package `{name}` of catalog {chosen}, which has the highest priority; also in {}",
                others.join(", ")
            ));
        }
        Ok(ChosenPackage {
            catalog: names[0].clone(),
            package: name.to_owned(),
        })
    }

    /// Returns the installed bundle that a text names: as NAME@VERSION, or by the name or the
    /// version of a bundle that one of the catalogs has.
    pub async fn installed(
        &self,
        package: &str,
        written: &str,
    ) -> Result<InstalledArg, CommandError> {
        if let Some(InstalledArg { name, version }) = parse_installed(written) {
            // A name may begin with a digit; a version begins with nothing else.
            if begins_like_version(&name) && !begins_like_version(&version) {
                let message = format!("`{written}` has the version before the name");
                return Err(CommandError::new(ExitStatus::Usage, message)
                    .hint(format!("write NAME@VERSION: {version}@{name}")));
            }
            return Ok(InstalledArg { name, version });
        }
        let (catalogs, name) = self.split(package);
        let mut variables = json!({ "catalogs": catalogs, "packages": [name] });
        SupportArgs::default().add_to(&mut variables);
        let bundles = self.walk_all(BUNDLES, variables, "/bundles").await?;
        if bundles.is_empty() {
            return Err(self.no_package(package).await);
        }
        let version = written.strip_prefix('v').unwrap_or(written);
        let by_name = bundles.iter().find(|bundle| bundle["name"] == *written);
        let found = by_name.or_else(|| bundles.iter().find(|bundle| bundle["version"] == *version));
        let Some(found) = found else {
            let message = format!("package `{name}` has no bundle `{written}`");
            let names: Vec<_> = bundles.iter().map(|bundle| text(bundle, "/name")).collect();
            let similar = similar_names(written, names.iter().map(String::as_str));
            return Err(CommandError::new(ExitStatus::NotFound, message)
                .hint("write NAME@VERSION for a bundle that no catalog has")
                .hint_if(question(&similar)));
        };
        Ok(InstalledArg {
            name: text(found, "/name"),
            version: text(found, "/version"),
        })
    }

    /// Returns the error for a package, as NAME or CATALOG/NAME, that no catalog has, with similar
    /// names; or the error for its catalog if that is not served.
    pub async fn no_package(&self, package: &str) -> CommandError {
        let (catalogs, name) = self.split(package);
        if let Err(error) = self.check_catalogs(&catalogs).await {
            return error;
        }
        let error = CommandError::new(ExitStatus::NotFound, format!("package `{name}` not found"));
        let similar = self.similar_packages(&catalogs, name).await;
        error.hint_if(question(&similar))
    }

    /// Returns names of packages that are spelled like a name that no catalog has. A request that
    /// fails is no error: the names are for a hint only.
    pub async fn similar_packages(&self, catalogs: &[String], name: &str) -> Vec<String> {
        let request = json!({ "packageName": name, "catalogs": catalogs });
        let variables = json!({ "request": request });
        let data = self.transport.execute(SIMILAR_PACKAGES, &variables).await;
        let data = data.unwrap_or_default();
        strings(&data["resolve"]["similarNames"])
    }

    /// Fails if one of these catalogs is not served. Sends no request if the list is empty.
    pub async fn check_catalogs(&self, names: &[String]) -> Result<(), CommandError> {
        if names.is_empty() {
            return Ok(());
        }
        // Offline, a name that cannot be checked is no error: the cache may have its responses.
        let Some(data) = self.transport.served(SERVED).await? else {
            return Ok(());
        };
        let served: Vec<_> = data["catalogs"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|catalog| text(catalog, "/name"))
            .collect();
        let Some(unknown) = names.iter().find(|name| !served.contains(name)) else {
            return Ok(());
        };

        Err(no_catalog(unknown, &served))
    }

    /// Fails if one of these packages is in no selected catalog. Sends no request for names that
    /// are among the `found` ones.
    pub async fn check_packages(
        &self,
        names: &[String],
        found: impl Iterator<Item = String>,
    ) -> Result<(), CommandError> {
        let found: Vec<_> = found.collect();
        let missing: Vec<_> = names.iter().filter(|name| !found.contains(name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        // A filter may have excluded packages that exist.
        match self.unknown_package(&self.catalogs, missing).await? {
            Some(name) => Err(self.no_package(name).await),
            None => Ok(()),
        }
    }

    /// Returns the first of these packages that none of the catalogs has; without names of catalogs,
    /// each counts.
    pub(crate) async fn unknown_package<'n>(
        &self,
        catalogs: &[String],
        names: Vec<&'n String>,
    ) -> Result<Option<&'n String>, CommandError> {
        let variables = json!({ "catalogs": catalogs, "names": names });
        let data = self.data(PACKAGE_NAMES, &variables).await?;
        let known = data["packages"]["nodes"].as_array().into_iter().flatten();
        let known: Vec<_> = known.map(|package| text(package, "/name")).collect();
        Ok(names.into_iter().find(|name| !known.contains(name)))
    }

    /// Fails if a package, as NAME or CATALOG/NAME, does not have one of these channels. `found`
    /// are the items found in them; a request is sent only if they do not show each channel.
    pub async fn check_channels(
        &self,
        package: &str,
        channels: &[String],
        found: &[Value],
    ) -> Result<(), CommandError> {
        let is_shown = |channel: &String| {
            let is_named = found
                .iter()
                .any(|item| strings(&item["channelNames"]).contains(channel));
            is_named || (channels.len() == 1 && !found.is_empty())
        };
        if channels.iter().all(is_shown) {
            return Ok(());
        }

        let known = self.channels(package).await?;
        if known.is_empty() {
            return Err(self.no_package(package).await);
        }
        match channels.iter().find(|channel| !known.contains(channel)) {
            Some(unknown) => Err(no_channel(self.split(package).1, unknown, &known)),
            None => Ok(()),
        }
    }

    /// Returns the names of the channels of a package, as NAME or CATALOG/NAME; none if no catalog
    /// has it.
    pub async fn channels(&self, package: &str) -> Result<Vec<String>, CommandError> {
        let (catalogs, name) = self.split(package);
        let variables = json!({ "catalogs": catalogs, "names": [name] });
        let packages = self.walk_all(CHANNELS, variables, "/packages").await?;
        let mut known: Vec<_> = packages
            .iter()
            .filter_map(|package| package["channels"].as_array())
            .flatten()
            .map(|channel| text(channel, "/name"))
            .collect();
        known.sort();
        known.dedup();
        Ok(known)
    }
}

/// Returns the error for a catalog that is not served, with those that are.
pub(crate) fn no_catalog(name: &str, served: &[String]) -> CommandError {
    let message = format!("no catalog `{name}` is served");
    let error = CommandError::new(ExitStatus::NotFound, message);
    if served.is_empty() {
        return error.hint("the server has no catalogs");
    }
    let similar = similar_names(name, served.iter().map(String::as_str));
    let list = format!("the served catalogs are {}", served.join(", "));
    error.hint(match question(&similar) {
        Some(question) => format!("{question} {list}"),
        None => list,
    })
}

/// Returns the error for a channel that a package does not have, with those that it has.
pub fn no_channel(package: &str, channel: &str, known: &[String]) -> CommandError {
    let message = format!("package `{package}` has no channel `{channel}`");
    let similar = similar_names(channel, known.iter().map(String::as_str));
    let list = format!("its channels are {}", known.join(", "));
    CommandError::new(ExitStatus::NotFound, message).hint(match question(&similar) {
        Some(question) => format!("{question} {list}"),
        None => list,
    })
}

/// Returns the texts of a JSON array.
pub(crate) fn strings(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::fixture::{self, ready};

    /// Transport that has its data at hand, and counts the requests.
    struct StoredResponses {
        data: Value,
        requests: RefCell<usize>,
    }

    impl GraphqlTransport for StoredResponses {
        async fn execute(&self, _: &str, _: &Value) -> Result<Value, CommandError> {
            *self.requests.borrow_mut() += 1;
            Ok(self.data.clone())
        }

        async fn list(&self, _: ListRequest) -> Result<Vec<Value>, CommandError> {
            *self.requests.borrow_mut() += 1;
            Ok(Vec::new())
        }
    }

    fn session(data: Value) -> CommandSession<StoredResponses> {
        let transport = StoredResponses {
            data,
            requests: RefCell::default(),
        };
        fixture::session(transport, OutputFormat::Table)
    }

    #[test]
    fn of_several_catalogs_the_one_with_the_highest_priority_has_the_package() {
        let node = |catalog, priority| json!({ "name": "etcd", "catalog": { "name": catalog, "priority": priority } });
        let nodes = |nodes: [Value; 2]| json!({ "packages": { "nodes": nodes } });
        let chosen = session(nodes([node("a", 0), node("b", 1)]));
        let chosen = ready(chosen.choose("etcd")).map(|chosen| chosen.full_name());
        assert_eq!(chosen, Ok("b/etcd".to_owned()));

        let tie = session(nodes([node("a", 0), node("b", 0)]));
        let error = ready(tie.choose("etcd")).expect_err("both have it");
        assert_eq!(
            (error.status, error.hint.as_deref()),
            (ExitStatus::NotFound, Some("write a/etcd"))
        );
    }

    #[test]
    fn an_installed_bundle_has_its_name_before_its_version() {
        let session = session(json!({}));
        let read = |written: &str| {
            let installed = ready(session.installed("a", written));
            installed.map_err(|error| (error.status, error.hint.unwrap_or_default()))
        };
        let installed = |name: &str, version: &str| {
            Ok(InstalledArg {
                name: name.to_owned(),
                version: version.to_owned(),
            })
        };
        assert_eq!(read("etcd.v0.9.2@0.9.2"), installed("etcd.v0.9.2", "0.9.2"));
        assert_eq!(read("3scale.v1@v1.0.0"), installed("3scale.v1", "v1.0.0"));
        let hint = "write NAME@VERSION: etcd.v0.9.2@0.9.2".to_owned();
        assert_eq!(read("0.9.2@etcd.v0.9.2"), Err((ExitStatus::Usage, hint)));
    }

    #[test]
    fn names_that_a_response_shows_cost_no_request() {
        let session = session(json!({ "catalogs": [{ "name": "a" }] }));
        let found = [json!({ "channelNames": ["stable", "beta"] })];
        let channels = ["beta".to_owned(), "stable".to_owned()];
        assert_eq!(
            ready(session.check_channels("etcd", &channels, &found)),
            Ok(())
        );
        assert_eq!(ready(session.check_catalogs(&[])), Ok(()));
        assert_eq!(*session.transport.requests.borrow(), 0);

        let error = ready(session.check_catalogs(&["b".to_owned()]));
        let error = error.expect_err("it is not served");
        assert_eq!(error.hint.as_deref(), Some("the served catalogs are a"));
    }
}
