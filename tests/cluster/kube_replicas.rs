//! Two replicas of the aggregated API behind one kube-apiserver, which reaches them in turn:
//! clients go on at the other as if it were the same.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testing::{Folders, control_plane_tools, eventually};

use crate::informer::{Informer, State, content, publish};
use crate::support::{Aggregated, Turns};

/// Path of the packages.
const PACKAGES: &str = "/apis/packages.operators.coreos.com/v1/namespaces/olm/packagemanifests";

/// Number of turns of each test.
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

impl List {
    /// `None` if it is an error.
    fn parse(text: &str) -> Option<Self> {
        let list: Value = serde_json::from_str(text).ok()?;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let items = list["items"].as_array()?;
        let of = |what: fn(&Value) -> &Value| {
            items
                .iter()
                .map(|item| (text(&item["metadata"]["name"]), text(what(item))))
                .collect()
        };
        Some(Self {
            version: text(&list["metadata"]["resourceVersion"]),
            state: of(|item| &item["status"]["defaultChannel"]),
            versions: of(|item| &item["metadata"]["resourceVersion"]),
        })
    }

    /// The version of the package that changed last.
    fn last(&self) -> Option<String> {
        self.versions
            .values()
            .max_by_key(|version| version.parse::<u64>().ok())
            .cloned()
    }
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

    /// Lists at the replica whose turn it is. A connection that ends with a turn may take a request
    /// with it.
    fn list(&self) -> List {
        let list = eventually(|| {
            Some(self.api.plane.try_kubectl(&["get", "--raw", PACKAGES], ""))
                .filter(|output| output.success)
        });
        List::parse(&list.stdout).expect("it is a list")
    }

    /// Waits until both replicas serve this.
    fn wait_for_both(&self, expected: &State) {
        for address in self.api.addresses() {
            let list = || {
                self.api
                    .ask(address, Some("admin"), "", PACKAGES)
                    .and_then(|(_, body)| List::parse(&body))
            };
            eventually(|| list().filter(|list| list.state == *expected));
        }
    }

    /// The events of a watch of a few seconds that begins at a version, each with what it is about:
    /// bookmarks are left out.
    fn watch(&self, version: &str) -> Vec<(String, String)> {
        let path = format!(
            "{PACKAGES}?watch=true&allowWatchBookmarks=true&timeoutSeconds=2&resourceVersion={version}"
        );
        let output = self.api.plane.kubectl(&["get", "--raw", &path]);
        let events = output
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let told = events.map(|event| {
            (
                text(&event["type"]),
                text(&event["object"]["metadata"]["name"]),
            )
        });
        let mut told: Vec<_> = told.filter(|(kind, _)| kind != "BOOKMARK").collect();
        told.sort();
        told
    }

    /// Starts `kubectl get --watch`, which writes a line for each package that it lists and for
    /// each event.
    fn watch_with_kubectl(&self, shown: &Path) -> Child {
        let tools = control_plane_tools().expect("the control plane runs");
        Command::new(tools.join("kubectl"))
            .arg("--kubeconfig")
            .arg(self.api.plane.kubeconfig())
            .args([
                "get",
                "packagemanifests",
                "--namespace=olm",
                "--watch",
                "--output-watch-events",
                "-o",
            ])
            .arg("jsonpath={.type} {.object.metadata.name}{\"\\n\"}")
            .env("HOME", self.api.folders.path("home"))
            .stdin(Stdio::null())
            .stdout(File::create(shown).expect("it can be written"))
            .stderr(Stdio::null())
            .spawn()
            .expect("kubectl can be started")
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
    let mut all: Vec<_> = names
        .iter()
        .filter_map(|name| Some((change(name)?.to_owned(), (*name).clone())))
        .collect();
    all.sort();
    all
}

#[test]
fn a_watch_at_one_replica_goes_on_where_the_list_of_another_ended() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    for number in 1..=TURNS {
        let listed = fixture.list();
        assert_eq!(listed.state, content(number - 1));
        fixture.turns.turn();
        let other = fixture.list();
        assert_eq!(other.state, listed.state);
        // Later, both may have seen a change in the same moment.
        assert!(
            number > 1 || other.versions != listed.versions,
            "else it would be no other replica"
        );
        assert_eq!(fixture.watch(&listed.version), [], "nothing has changed");
        fixture.publish(number);
        eventually(|| (fixture.list().state == content(number)).then_some(()));
        assert_eq!(
            fixture.watch(&listed.version),
            changes(&listed.state, &content(number))
        );
    }
}

#[test]
fn an_informer_goes_on_at_another_replica_and_lists_again_only_where_its_connection_is_cut() {
    let Some(mut fixture) = Fixture::start() else {
        return;
    };
    let Some(mut informer) = Informer::start(&fixture.api) else {
        return;
    };
    informer.wait_for(&content(0));
    let mut told = content(0).len();
    for number in 1..=TURNS {
        fixture.publish(number);
        informer.wait_for(&content(number));
        told += changes(&content(number - 1), &content(number)).len();
        fixture.wait_for_both(&content(number));
        // A bookmark is behind the last event: another replica knows its version.
        eventually(|| is_of_a_state(informer.version()).then_some(()));
        fixture.api.replace(&fixture.turns);
    }
    assert_eq!(
        (informer.replay(), informer.notifications()),
        ((content(TURNS), told), told)
    );
    for number in TURNS + 1..=2 * TURNS {
        // The client library takes a response that breaks off for an error of the server, and
        // lists: everything has other numbers at the other replica, so that it is told once more.
        fixture.turns.turn();
        fixture.publish(number);
        informer.wait_for(&content(number));
        told += changes(&content(number - 1), &content(number)).len();
    }
    assert_eq!(
        informer.replay(),
        (content(2 * TURNS), told),
        "what is told again is as it was"
    );
}

/// Whether a resource version is that of a list or a bookmark: those of events have a zero in this
/// place.
fn is_of_a_state(version: u64) -> bool {
    version >> 28 & 1 == 1
}

#[test]
fn kubectl_shows_each_change_once_and_nothing_else_until_its_replica_ends() {
    let Some(mut fixture) = Fixture::start() else {
        return;
    };
    for number in 1..=TURNS / 2 {
        let shown = fixture.api.folders.path("shown");
        let mut kubectl = fixture.watch_with_kubectl(&shown);
        let rows = || {
            fs::read_to_string(&shown)
                .expect("it is there")
                .lines()
                .count()
        };
        let before = content(number - 1);
        let after = content(number);
        eventually(|| (rows() >= before.len()).then_some(()));
        fixture.publish(number);
        let changed = changes(&before, &after);
        eventually(|| (rows() >= before.len() + changed.len()).then_some(()));
        fixture.api.replace(&fixture.turns);
        assert!(kubectl.wait().expect("it is a child").success());
        let text = fs::read_to_string(&shown).expect("it is there");
        let mut shown: Vec<_> = text.lines().collect();
        let listed: Vec<_> = before.keys().map(|name| format!("ADDED {name}")).collect();
        assert_eq!(shown.drain(..before.len()).collect::<Vec<_>>(), listed);
        shown.sort_unstable();
        let changed: Vec<_> = changed
            .iter()
            .map(|(kind, name)| format!("{kind} {name}"))
            .collect();
        assert_eq!(shown, changed);
        eventually(|| (fixture.list().state == after).then_some(()));
    }
}

#[test]
fn a_page_goes_on_at_another_replica_and_the_version_of_an_event_does_not() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    let ask = |path: &str| fixture.api.plane.try_kubectl(&["get", "--raw", path], "");
    let page = ask(&format!("{PACKAGES}?limit=7"));
    let page: Value = serde_json::from_str(&page.stdout).expect("it is JSON");
    let token = page["metadata"]["continue"]
        .as_str()
        .expect("there is more");
    fixture.turns.turn();
    let rest = eventually(|| {
        Some(ask(&format!("{PACKAGES}?continue={token}"))).filter(|output| output.success)
    });
    let rest: Value = serde_json::from_str(&rest.stdout).expect("it is JSON");
    assert_eq!(
        rest["items"].as_array().map(Vec::len),
        Some(content(0).len() - 7)
    );

    let last = |number| {
        eventually(|| {
            Some(fixture.list())
                .filter(|list| list.state == content(number))
                .and_then(|list| list.last())
        })
    };
    // Until they see a change at different moments: what they see at the same one has the same
    // versions.
    for number in 1.. {
        fixture.publish(number);
        let version = last(number);
        let watch = format!("{PACKAGES}?watch=true&timeoutSeconds=1&resourceVersion={version}");
        assert!(ask(&watch).success, "the replica that told it knows it");
        fixture.turns.turn();
        if last(number) != version {
            // The other cannot know which of both is younger.
            let refused = ask(&watch);
            let is_refused = ["too old resource version", "Too large resource version"]
                .map(|why| refused.stderr.contains(why));
            assert!(
                !refused.success && is_refused.contains(&true),
                "{refused:?}"
            );
            return;
        }
    }
}
