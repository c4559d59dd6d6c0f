//! Two replicas of the aggregated API behind one kube-apiserver, which reaches them in turn: a
//! client that is moved to the other one lists again, and neither loses nor doubles a change.

use std::collections::BTreeSet;
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
}

impl List {
    /// `None` if it is an error.
    fn parse(text: &str) -> Option<Self> {
        let list: Value = serde_json::from_str(text).ok()?;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let items = list["items"].as_array()?.iter();
        let entries = items.map(|item| {
            (
                text(&item["metadata"]["name"]),
                text(&item["status"]["defaultChannel"]),
            )
        });
        Some(Self {
            version: text(&list["metadata"]["resourceVersion"]),
            state: entries.collect(),
        })
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

    /// The events of a watch of a few seconds that begins at a version, each with the name of its
    /// object, without bookmarks; `None` if the version is expired.
    fn watch(&self, version: &str) -> Option<Vec<(String, String)>> {
        let path = format!(
            "{PACKAGES}?watch=true&allowWatchBookmarks=true&timeoutSeconds=2&resourceVersion={version}"
        );
        // A connection that ends with a turn may take a request with it.
        let output = eventually(|| {
            let output = self.api.plane.try_kubectl(&["get", "--raw", &path], "");
            let is_expired = output.stderr.contains("too old resource version");
            (output.success || is_expired).then_some(output)
        });
        if !output.success {
            return None;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let events = output.stdout.lines().map(|line| {
            let event: Value = serde_json::from_str(line).expect("it is JSON");
            (
                text(&event["type"]),
                text(&event["object"]["metadata"]["name"]),
            )
        });
        let mut events: Vec<_> = events.filter(|(kind, _)| kind != "BOOKMARK").collect();
        events.sort();
        Some(events)
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

/// The events that lead from one state to another, sorted as [`Fixture::watch`] sorts them.
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
fn a_watch_at_another_replica_gets_410_and_resumes_after_a_list_there() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    for number in 1..=TURNS {
        let listed = fixture.list();
        assert_eq!(listed.state, content(number - 1));
        fixture.turns.turn();
        assert_eq!(fixture.watch(&listed.version), None);
        let other = fixture.list();
        assert_eq!(other.state, listed.state);
        assert_eq!(
            fixture.watch(&other.version),
            Some(Vec::new()),
            "nothing has changed"
        );
        fixture.publish(number);
        fixture.wait_for_both(&content(number));
        assert_eq!(
            fixture.watch(&other.version),
            Some(changes(&other.state, &content(number)))
        );
        assert_eq!(fixture.watch(&listed.version), None);
    }
}

#[test]
fn an_informer_that_is_moved_to_another_replica_lists_again_and_neither_loses_nor_doubles() {
    let Some(mut fixture) = Fixture::start() else {
        return;
    };
    let Some(mut informer) = Informer::start(&fixture.api) else {
        return;
    };
    informer.wait_for(&content(0));
    let mut changed = content(0).len();
    // No more moves, since the client library doubles the time that it waits before each list.
    for number in 1..=TURNS {
        // Half of the moves are upgrades, the others connections that are cut.
        let is_upgrade = number <= TURNS / 2;
        if !is_upgrade {
            fixture.turns.turn();
        }
        fixture.publish(number);
        informer.wait_for(&content(number));
        changed += changes(&content(number - 1), &content(number)).len();
        fixture.wait_for_both(&content(number));
        if is_upgrade {
            let before = informer.notifications();
            fixture.api.replace(&fixture.turns);
            // All objects have other versions at the other replica, so that a list notifies of
            // each.
            let listed = before + content(number).len();
            eventually(|| (informer.notifications() >= listed).then_some(()));
        }
        // A list notifies of objects that did not change too, but as they were.
        let expected = (content(number), changed);
        eventually(|| (informer.replay() == expected).then_some(()));
    }
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
fn a_page_continues_at_another_replica_until_the_contents_change() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    fixture.wait_for_both(&content(0));
    let [first, second] = fixture.api.addresses()[..] else {
        unreachable!("there are two replicas");
    };
    let ask = |address, query: &str| {
        let path = format!("{PACKAGES}?{query}");
        let answer = fixture.api.ask(address, Some("admin"), "", &path);
        let (status, body) = answer.expect("there is a response");
        let body: Value = serde_json::from_str(&body).expect("it is JSON");
        (status, body)
    };
    let token = |body: &Value| body["metadata"]["continue"].as_str().map(str::to_owned);
    let count = |body: &Value| body["items"].as_array().map(Vec::len);

    let (_, page) = ask(first, "limit=7");
    let next = format!("continue={}", token(&page).expect("there is more"));
    let (status, rest) = ask(second, &next);
    assert_eq!((status, count(&rest)), (200, Some(content(0).len() - 7)));

    fixture.publish(1);
    fixture.wait_for_both(&content(1));
    let (status, expired) = ask(second, &next);
    assert_eq!((status, &expired["reason"]), (410, &"Expired".into()));
    let resumed = token(&expired).expect("there is a token");
    let (status, rest) = ask(second, &format!("continue={resumed}"));
    assert_eq!((status, count(&rest).is_some()), (200, true));
}
