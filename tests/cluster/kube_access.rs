//! Who may read the aggregated API: users, verbs and catalogs through a real kube-apiserver and
//! past it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::{ControlPlane, Folders, eventually, fixture};

use crate::support::{Aggregated, GROUP};

/// Path of the packages of the global namespace.
const PACKAGES: &str = "/apis/packages.operators.coreos.com/v1/namespaces/olm/packagemanifests";

/// The group of what catalogs hold, and its kinds.
const HELD_GROUP: &str = "catalogd.operatorframework.io";
const HELD: [&str; 4] = [
    "packages",
    "bundlemetadata",
    "operatorpackages",
    "catalogmetadata",
];

/// Makes kubectl print names with spaces between them.
const NAMES: &str = "-o jsonpath={.items[*].metadata.name}";

/// What a revoked right may work longer by, on a busy machine.
const SLACK: Duration = Duration::from_secs(10);

/// The catalogs that are served, each with a package of its name.
const CATALOGS: [&str; 2] = ["open", "secret"];

/// Users, whether they may read packages at all, and the catalogs that they see.
const USERS: [(&str, bool, &[&str]); 4] = [
    ("everything", true, &CATALOGS),
    ("one", true, &["open"]),
    ("none", true, &[]),
    ("stranger", false, &["open"]),
];

/// The verbs of reading. For each there is a user of its name, who has no other and sees `open`.
const VERBS: [&str; 3] = ["get", "list", "watch"];

/// The API with users.
struct Fixture(Aggregated);

impl Fixture {
    /// `None` as for [`Aggregated::start`].
    #[track_caller]
    fn start() -> Option<Self> {
        let folders = Folders::new();
        for name in CATALOGS {
            let package = format!(
                "package {name} default=stable\nchannel stable: v1.0.0\nbundle v1.0.0 display={name}"
            );
            folders.write(&format!("{name}/catalog.json"), fixture::lines(&package));
        }
        let arguments = ["--auth=delegated"]
            .map(str::to_owned)
            .into_iter()
            .chain(CATALOGS.map(|name| folders.text(name)));
        let api = Aggregated::start(folders, arguments.collect())?;
        grant(&api.plane);
        Some(Self(api))
    }

    /// What kubectl prints for a user, or its error.
    fn kubectl(&self, user: &str, arguments: &str) -> String {
        let arguments: Vec<_> = arguments.split(' ').chain(["--as", user]).collect();
        let output = self.0.plane.try_kubectl(&arguments, "");
        if output.success {
            output.stdout
        } else {
            output.stderr
        }
    }

    /// The names of the packages that a user sees through the API server.
    fn lists(&self, user: &str) -> String {
        self.kubectl(
            user,
            "get packagemanifests -n olm -o jsonpath={.items[*].metadata.name}",
        )
    }

    /// Asks the server itself, as [`Aggregated::ask`] does.
    fn ask(&self, certificate: Option<&str>, headers: &str, path: &str) -> Option<(u16, String)> {
        self.0.ask(self.0.address, certificate, headers, path)
    }

    /// Binds a user to a role that is not there, and compares what the API server says of that with
    /// what is said past it.
    fn gives_the_reason_of_the_api_server(&self, user: &str) {
        let group = "rbac.authorization.k8s.io";
        let reference = json!({ "apiGroup": group, "kind": "ClusterRole", "name": "nowhere" });
        self.0.plane.apply(&[json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": "nowhere" },
            "roleRef": reference, "subjects": [{ "apiGroup": group, "kind": "User", "name": user }],
        })]);
        let list = format!("get --raw {PACKAGES}");
        let said = eventually(|| {
            Some(self.kubectl(user, &list)).filter(|text| text.contains("\"nowhere\" not found"))
        });
        let headers = format!("X-Remote-User: {user}\r\n");
        let (status, body) = self
            .ask(Some("front-proxy"), &headers, PACKAGES)
            .expect("there is a response");
        let answer: Value = serde_json::from_str(&body).expect("it is JSON");
        let message = answer["message"].as_str().expect("there is a message");
        assert_eq!(
            (status, said.trim().ends_with(&format!(": {message}"))),
            (403, true),
            "{said} {message}"
        );
    }

    /// Registers the group of what catalogs hold, as that of the packages is, and waits until it
    /// can be listed.
    fn register_held(&self) {
        let plane = &self.0.plane;
        let mut spec = plane.get(&["apiservice", &format!("v1.{GROUP}")])["spec"].clone();
        (spec["group"], spec["version"]) = (json!(HELD_GROUP), json!("v1beta1"));
        let name = format!("v1beta1.{HELD_GROUP}");
        plane.apply(&[json!({
            "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": { "name": name }, "spec": spec,
        })]);
        plane.kubectl(&[
            "wait",
            "--for=condition=Available",
            "--timeout=60s",
            "apiservice",
            &name,
        ]);
        // The API server learns of the group a moment later.
        eventually(|| {
            plane
                .try_kubectl(&["get", &format!("packages.{HELD_GROUP}")], "")
                .success
                .then_some(())
        });
    }

    /// The catalogs that the names of objects begin with which a user gets with these arguments.
    fn catalogs(&self, user: &str, arguments: &str) -> BTreeSet<String> {
        let text = self.kubectl(user, &format!("get {arguments} {NAMES}"));
        text.split_whitespace()
            .map(|name| {
                name.split_once(':')
                    .map_or(name, |(catalog, _)| catalog)
                    .to_owned()
            })
            .collect()
    }

    /// The catalogs whose objects of a kind a watch begins with.
    fn watched_catalogs(&self, user: &str, kind: &str) -> BTreeSet<String> {
        let (plural, group) = kind.split_once('.').expect("it has a group");
        let path = format!("/apis/{group}/v1beta1/{plural}?watch=true&timeoutSeconds=1");
        let events = self.kubectl(user, &format!("get --raw {path}"));
        let catalog = |line: &str| {
            let event: Value = serde_json::from_str(line).expect("it is JSON");
            event["object"]["metadata"]["labels"]["catalog"]
                .as_str()
                .unwrap_or_else(|| panic!("{event}"))
                .to_owned()
        };
        events.lines().map(catalog).collect()
    }

    /// Gets an object of each catalog by its name, and compares what is said of those that the user
    /// does not see with what is said of one that is not there.
    fn gets_only_what_is_of(&self, sees: &BTreeSet<String>, user: &str, kind: &str) {
        let all = self.kubectl("everything", &format!("get {kind} {NAMES}"));
        for name in all.split_whitespace() {
            let got = self.kubectl(user, &format!("get {kind} {name} -o name"));
            if sees
                .iter()
                .any(|catalog| name.starts_with(&format!("{catalog}:")))
            {
                let plural = kind.replace("packages.", "package.");
                assert_eq!(got.trim(), format!("{plural}/{name}"));
            } else {
                let missing = self
                    .kubectl(user, &format!("get {kind} absent -o name"))
                    .replace("absent", name);
                assert_eq!(got, missing, "{user}");
            }
        }
    }

    /// Asks past the API server for packages of a user, as the API server does.
    fn ask_for(&self, user: &str, path: &str) -> (u16, String) {
        let answer = self.ask(
            Some("front-proxy"),
            &format!("X-Remote-User: {user}\r\n"),
            path,
        );
        answer.expect("there is a response")
    }

    /// Keeps a certificate as `former`, which is about to be replaced.
    fn keep_former(&self, name: &str) {
        let plane = &self.0.plane;
        for kind in ["pem", "key"] {
            std::fs::copy(
                plane.file(&format!("{name}.{kind}")),
                plane.file(&format!("former.{kind}")),
            )
            .expect("it is there");
        }
    }

    /// Removes all authorities under a key but that of a file: the API server adds its authority
    /// and removes none.
    fn publish_only(&self, key: &str, file: &str) {
        let only = std::fs::read_to_string(self.0.plane.file(file)).expect("it is there");
        let patch = json!({ "data": { key: only } }).to_string();
        let name = "configmap/extension-apiserver-authentication";
        self.0.plane.kubectl(&[
            "patch",
            "--namespace=kube-system",
            "--type=merge",
            "--patch",
            &patch,
            name,
        ]);
    }

    /// The status of a list of packages that is asked past the API server.
    fn status(&self, certificate: Option<&str>, headers: &str) -> Option<u16> {
        self.ask(certificate, headers, PACKAGES)
            .map(|(status, _)| status)
    }
}

/// Gives the users their rights.
fn grant(plane: &ControlPlane) {
    let version = "rbac.authorization.k8s.io/v1";
    let group = "rbac.authorization.k8s.io";
    let readers =
        USERS.map(|(user, may_read, sees)| (user, if may_read { &VERBS[..] } else { &[] }, sees));
    let of_one_verb = VERBS
        .each_ref()
        .map(|verb| (*verb, std::slice::from_ref(verb), &["open"][..]));
    for (user, verbs, sees) in readers.into_iter().chain(of_one_verb) {
        let mut rules = vec![json!({
            "apiGroups": ["olm.operatorframework.io"], "resources": ["clustercatalogs/content"], "verbs": ["get"],
            "resourceNames": sees,
        })];
        // An empty list of names is every name.
        rules.retain(|_| !sees.is_empty());
        if !verbs.is_empty() {
            let resources = ["packagemanifests", "packagemanifests/icon"];
            rules.push(json!({ "apiGroups": [GROUP], "resources": resources, "verbs": verbs }));
            rules.push(json!({ "apiGroups": [HELD_GROUP], "resources": HELD, "verbs": verbs }));
        }
        let reference = json!({ "apiGroup": group, "kind": "ClusterRole", "name": user });
        plane.apply(&[
            json!({ "apiVersion": version, "kind": "ClusterRole", "metadata": { "name": user }, "rules": rules }),
            json!({
                "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": { "name": user }, "roleRef": reference,
                "subjects": [{ "apiGroup": group, "kind": "User", "name": user }],
            }),
        ]);
    }
}

#[test]
fn kubectl_shows_each_user_the_packages_of_its_catalogs_and_no_other() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    for (user, may_read, sees) in USERS {
        if !may_read {
            let refused = fixture.lists(user);
            assert!(
                refused.contains("User \"stranger\" cannot list resource \"packagemanifests\""),
                "{refused}"
            );
            fixture.gives_the_reason_of_the_api_server(user);
            continue;
        }
        let mut sees = sees.to_vec();
        sees.sort_unstable();
        // The API server learns of roles by a watch.
        eventually(|| (fixture.lists(user) == sees.join(" ")).then_some(()));
        for name in CATALOGS {
            let (get, missing) = (
                format!("get packagemanifest {name} -n olm"),
                "get packagemanifest absent -n olm",
            );
            let got = fixture.kubectl(user, &format!("{get} -o name"));
            let icon = fixture.kubectl(user, &format!("get --raw {PACKAGES}/{name}/icon"));
            if sees.contains(&name) {
                assert_eq!(
                    (got.trim(), icon.starts_with("<svg")),
                    (&*format!("packagemanifest.{GROUP}/{name}"), true)
                );
            } else {
                let missing = fixture.kubectl(user, missing).replace("absent", name);
                assert_eq!((got, icon.contains("NotFound")), (missing, true), "{icon}");
            }
        }
        let events = fixture.kubectl(
            user,
            &format!("get --raw {PACKAGES}?watch=true&timeoutSeconds=1"),
        );
        let named = |line: &str| {
            serde_json::from_str::<Value>(line).expect("it is JSON")["object"]["metadata"]["name"]
                .clone()
        };
        // In the order in which the catalogs were loaded.
        let mut watched: Vec<_> = events.lines().map(named).collect();
        watched.sort_by_key(ToString::to_string);
        assert_eq!(watched, sees);
    }
}

#[test]
fn kubectl_shows_each_user_what_its_catalogs_hold_and_nothing_of_others() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    fixture.register_held();
    for (user, may_read, sees) in USERS {
        let sees: BTreeSet<_> = sees.iter().map(|&name| name.to_owned()).collect();
        for kind in HELD.map(|kind| format!("{kind}.{HELD_GROUP}")) {
            if !may_read {
                let refused = fixture.kubectl(user, &format!("get {kind}"));
                assert!(
                    refused.contains("User \"stranger\" cannot list resource"),
                    "{refused}"
                );
                continue;
            }
            // The API server learns of roles by a watch.
            eventually(|| (fixture.catalogs(user, &kind) == sees).then_some(()));
            let selected = fixture.catalogs(user, &format!("{kind} -l catalog=secret"));
            assert_eq!(
                selected.contains("secret"),
                sees.contains("secret"),
                "{user} {kind} {selected:?}"
            );
            let watched = fixture.watched_catalogs(user, &kind);
            assert_eq!(watched, sees, "{user} {kind}");
            fixture.gets_only_what_is_of(&sees, user, &kind);
        }
    }
}

#[test]
fn a_verb_lets_nobody_do_what_another_verb_is_for() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    let held = format!("/apis/{HELD_GROUP}/v1beta1/packages");
    for (all, one) in [(PACKAGES, "open"), (&held, "open:open")] {
        let requests = [
            ("get", format!("{all}/{one}")),
            ("list", all.to_owned()),
            ("watch", format!("{all}?watch=true&timeoutSeconds=1")),
        ];
        for user in VERBS {
            for (verb, path) in &requests {
                let is_granted = user == *verb;
                // The API server learns of roles by a watch, and what is known of a user is
                // believed for a moment.
                eventually(|| ((fixture.ask_for(user, path).0 == 200) == is_granted).then_some(()));
                let (status, body) = fixture.ask_for(user, path);
                let refused = format!("User \\\"{user}\\\" cannot {verb} resource");
                let expected = if is_granted {
                    (200, false)
                } else {
                    (403, true)
                };
                assert_eq!(
                    (status, body.contains(&refused)),
                    expected,
                    "{user} {path} {body}"
                );
            }
        }
    }
}

#[test]
fn a_right_that_is_taken_is_gone_in_the_documented_time() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    let names = || {
        let (status, body) = fixture.ask_for("one", PACKAGES);
        let list: Value = serde_json::from_str(&body).expect("it is JSON");
        let items = list["items"].as_array().into_iter().flatten();
        (
            status,
            items
                .map(|item| item["metadata"]["name"].clone())
                .collect::<Vec<_>>(),
        )
    };
    eventually(|| (names() == (200, vec![json!("open")])).then_some(()));
    let list =
        json!({ "apiGroups": [GROUP], "resources": ["packagemanifests"], "verbs": ["list"] });
    for (rules, expected) in [
        (json!([list]), (200, Vec::new())),
        (json!([]), (403, Vec::new())),
    ] {
        let patch = json!({ "rules": rules }).to_string();
        fixture.0.plane.kubectl(&[
            "patch",
            "clusterrole",
            "one",
            "--type=merge",
            "--patch",
            &patch,
        ]);
        let begun = Instant::now();
        eventually(|| (names() == expected).then_some(()));
        assert!(
            begun.elapsed() < auth::CACHE_TIME + SLACK,
            "{expected:?} after {:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn whoever_is_not_the_api_server_speaks_for_nobody_else() {
    let Some(mut fixture) = Fixture::start() else {
        return;
    };
    eventually(|| (fixture.lists("one") == "open").then_some(()));
    let proxied = |user: &str| format!("X-Remote-User: {user}\r\n");
    let names = |certificate, headers: &str| {
        let (status, body) = fixture
            .ask(certificate, headers, PACKAGES)
            .expect("there is a response");
        let list: Value =
            serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {status} {body}"));
        let items = list["items"]
            .as_array()
            .unwrap_or_else(|| panic!("{status} {body}"))
            .iter();
        items
            .map(|item| {
                item["metadata"]["name"]
                    .as_str()
                    .expect("it has a name")
                    .to_owned()
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(names(Some("front-proxy"), &proxied("one")), ["open"]);
    assert_eq!(names(Some("front-proxy"), &proxied("everything")), CATALOGS);
    // The administrator is who its certificate says, whatever its headers say.
    assert_eq!(names(Some("admin"), &proxied("none")), CATALOGS);
    fixture
        .0
        .plane
        .kubectl(&["create", "serviceaccount", "reader"]);
    let token = fixture.0.plane.kubectl(&["create", "token", "reader"]);
    let bearer = format!("Authorization: Bearer {}\r\n", token.trim());
    for (certificate, headers, expected) in [
        (None, String::new(), 401),
        (None, proxied("everything"), 401),
        (None, "Authorization: Bearer none\r\n".to_owned(), 401),
        (None, bearer.clone(), 403),
        (None, bearer + &proxied("everything"), 403),
        (Some("front-proxy"), String::new(), 401),
        (Some("front-proxy"), proxied("stranger"), 403),
        (
            Some("front-proxy"),
            proxied("everything") + "Impersonate-User: one\r\n",
            403,
        ),
    ] {
        assert_eq!(
            fixture.status(certificate, &headers),
            Some(expected),
            "{certificate:?} {headers}"
        );
    }
    let document = fixture
        .ask(None, "", &format!("/apis/{GROUP}/v1"))
        .expect("there is a response");
    assert_eq!(document.0, 200, "{}", document.1);
    let probe = |headers| {
        fixture
            .ask(None, headers, "/healthz")
            .map(|(status, _)| status)
    };
    let bad = "Authorization: Bearer none\r\n";
    assert_eq!([probe(""), probe(bad)], [Some(200), Some(401)]);

    fixture.0.plane.stop_api_server();
    assert_eq!(
        fixture.status(Some("front-proxy"), &proxied("new")),
        Some(500)
    );
    eventually(|| {
        (fixture.status(Some("front-proxy"), &proxied("everything")) == Some(500)).then_some(())
    });
    assert_eq!(
        fixture
            .ask(None, "", &format!("/apis/{GROUP}/v1"))
            .map(|(status, _)| status),
        Some(200)
    );
}

#[test]
fn a_new_authority_of_front_proxies_counts_without_a_restart_and_the_former_one_no_longer() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    eventually(|| (fixture.lists("one") == "open").then_some(()));
    let user = "X-Remote-User: one\r\n";
    fixture.keep_former("front-proxy");
    assert_eq!(fixture.status(Some("former"), user), Some(200));
    fixture.0.plane.rotate_front_proxy();
    eventually(|| (fixture.status(Some("front-proxy"), user) == Some(200)).then_some(()));
    eventually(|| (fixture.lists("one") == "open").then_some(()));
    fixture.publish_only("requestheader-client-ca-file", "front-proxy-ca.pem");
    eventually(|| {
        (fixture
            .status(Some("former"), user)
            .is_none_or(|status| status == 401))
        .then_some(())
    });
    assert_eq!(fixture.status(Some("front-proxy"), user), Some(200));
    assert_eq!(fixture.lists("one"), "open");
}

#[test]
fn a_new_authority_of_users_counts_without_a_restart_and_the_former_one_no_longer() {
    let Some(fixture) = Fixture::start() else {
        return;
    };
    fixture.keep_former("admin");
    assert_eq!(fixture.status(Some("former"), ""), Some(200));
    fixture.0.plane.rotate_users();
    eventually(|| (fixture.status(Some("admin"), "") == Some(200)).then_some(()));
    // Until the API server knows the administrator's new certificate, too.
    eventually(|| (fixture.lists("one") == "open").then_some(()));
    assert_eq!(
        fixture.status(Some("former"), ""),
        Some(200),
        "both count until the former one is taken away"
    );
    fixture.publish_only("client-ca-file", "client-ca.pem");
    eventually(|| {
        (fixture
            .status(Some("former"), "")
            .is_none_or(|status| status == 401))
        .then_some(())
    });
    assert_eq!(fixture.status(Some("admin"), ""), Some(200));
}
