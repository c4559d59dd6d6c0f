//! Two replicas of the aggregated API behind one kube-apiserver, which reaches them in turn: a watch goes on at one where the
//! list of the other ended.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use testing::{Folders, eventually};

use crate::informer::{State, content, publish};
use crate::support::{Aggregated, Turns};

/// Path of the packages.
const PACKAGES: &str = "/apis/packages.operators.coreos.com/v1/namespaces/olm/packagemanifests";

/// Number of turns.
const TURNS: u32 = 4;

/// The API of two replicas over one folder.
struct Fixture {
    api: Aggregated,
    turns: Turns,
}

/// A list of packages.
struct List {
    version: String,
    /// Default channels of packages, by the packages' names.
    state: State,
    /// Resource versions of packages, by the packages' names.
    versions: BTreeMap<String, String>,
}

impl Fixture {
    /// `None` as for [`Aggregated::start`].
    #[track_caller]
    fn start() -> Option<Self> {
        let folders = Folders::new();
        folders.write("catalog/.indexignore", ".new\n");
        publish(&folders.path("catalog"), 0);
        let arguments = vec!["--watch".to_owned(), folders.text("catalog")];
        let (api, turns) = Aggregated::start_two(folders, arguments)?;
        Some(Self { api, turns })
    }

    fn publish(&self, number: u32) {
        publish(&self.api.folders.path("catalog"), number);
    }

    /// Lists at the replica whose turn it is. A connection that ends with a turn may take a request with it.
    fn list(&self) -> List {
        let list = eventually(|| {
            Some(self.api.plane.try_kubectl(&["get", "--raw", PACKAGES], "")).filter(|output| output.success)
        });
        let list: Value = serde_json::from_str(&list.stdout).expect("it is JSON");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let items = || list["items"].as_array().into_iter().flatten();
        let of = |what: fn(&Value) -> &Value| {
            items().map(|item| (text(&item["metadata"]["name"]), text(what(item)))).collect()
        };
        List {
            version: text(&list["metadata"]["resourceVersion"]),
            state: of(|item| &item["status"]["defaultChannel"]),
            versions: of(|item| &item["metadata"]["resourceVersion"]),
        }
    }

    /// The events of a watch of a few seconds that begins at a version, each with what it is about: bookmarks are left out.
    fn watch(&self, version: &str) -> Vec<(String, String)> {
        let path = format!("{PACKAGES}?watch=true&allowWatchBookmarks=true&timeoutSeconds=2&resourceVersion={version}");
        let output = self.api.plane.kubectl(&["get", "--raw", &path]);
        let events = output.lines().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let told = events.map(|event| (text(&event["type"]), text(&event["object"]["metadata"]["name"])));
        let mut told: Vec<_> = told.filter(|(kind, _)| kind != "BOOKMARK").collect();
        told.sort();
        told
    }
}

/// What makes one state of another, sorted as [`Fixture::watch`] has it.
fn changes(before: &State, after: &State) -> Vec<(String, String)> {
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let change = |name: &&String| match (before.get(*name), after.get(*name)) {
        (None, Some(_)) => Some("ADDED"),
        (Some(_), None) => Some("DELETED"),
        (former, now) => (former != now).then_some("MODIFIED"),
    };
    let mut all: Vec<_> = names.iter().filter_map(|name| Some((change(name)?.to_owned(), (*name).clone()))).collect();
    all.sort();
    all
}

#[test]
fn a_watch_at_one_replica_goes_on_where_the_list_of_another_ended() {
    let Some(fixture) = Fixture::start() else { return };
    for number in 1..=TURNS {
        let listed = fixture.list();
        assert_eq!(listed.state, content(number - 1));
        fixture.turns.turn();
        let other = fixture.list();
        assert_eq!(other.state, listed.state);
        // Later, both may have seen a change in the same moment.
        assert!(number > 1 || other.versions != listed.versions, "else it would be no other replica");
        assert_eq!(fixture.watch(&listed.version), [], "nothing has changed");
        fixture.publish(number);
        eventually(|| (fixture.list().state == content(number)).then_some(()));
        assert_eq!(fixture.watch(&listed.version), changes(&listed.state, &content(number)));
    }
}
