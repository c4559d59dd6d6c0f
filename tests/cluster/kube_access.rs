//! Who may read the aggregated API: users, verbs and catalogs through a real kube-apiserver and past it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::{ControlPlane, Folders, eventually, fixture};

use crate::support::{Aggregated, GROUP};

/// Path of the packages of the global namespace.
const PACKAGES: &str = "/apis/packages.operators.coreos.com/v1/namespaces/olm/packagemanifests";

/// The group of what catalogs hold, and its resources.
const CATALOGD: &str = "catalogd.operatorframework.io";
const OWN: [&str; 4] = ["packages", "bundlemetadata", "operatorpackages", "catalogmetadata"];

/// The catalogs that are served, each with a package of its name.
const CATALOGS: [&str; 2] = ["open", "secret"];

/// Users, whether they may read packages at all, and the catalogs that they see.
const USERS: [(&str, bool, &[&str]); 4] =
    [("everything", true, &CATALOGS), ("one", true, &["open"]), ("none", true, &[]), ("stranger", false, &["open"])];

/// The API with users.
struct Fixture(Aggregated);

impl Fixture {
    /// `None` as for [`Aggregated::start`].
    #[track_caller]
    fn start() -> Option<Self> {
        let folders = Folders::new();
        for name in CATALOGS {
            let package =
                format!("package {name} default=stable\nchannel stable: v1.0.0\nbundle v1.0.0 display={name}");
            folders.write(&format!("{name}/catalog.json"), fixture::lines(&package));
        }
        let arguments =
            ["--auth=delegated"].map(str::to_owned).into_iter().chain(CATALOGS.map(|name| folders.text(name)));
        let api = Aggregated::start(folders, arguments.collect())?;
        grant(&api.plane);
        Some(Self(api))
    }

    /// What kubectl prints for a user, or its error.
    fn kubectl(&self, user: &str, arguments: &str) -> String {
        let arguments: Vec<_> = arguments.split(' ').chain(["--as", user]).collect();
        let output = self.0.plane.try_kubectl(&arguments, "");
        if output.success { output.stdout } else { output.stderr }
    }

    /// The names of the packages that a user sees through the API server.
    fn lists(&self, user: &str) -> String {
        self.kubectl(user, "get packagemanifests -n olm -o jsonpath={.items[*].metadata.name}")
    }

    /// Asks the server itself, as [`Aggregated::ask`] does.
    fn ask(&self, certificate: Option<&str>, headers: &str, path: &str) -> Option<(u16, String)> {
        self.0.ask(self.0.address, certificate, headers, path)
    }

    /// The catalogs of the objects of a resource of what catalogs hold that a user sees.
    fn catalogs_of(&self, user: &str, resource: &str) -> BTreeSet<String> {
        let path = format!("/apis/{CATALOGD}/v1beta1/{resource}");
        let (status, body) = self.ask(Some("front-proxy"), &proxied(user), &path).expect("there is a response");
        let list: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {status} {body}"));
        let items = list["items"].as_array().unwrap_or_else(|| panic!("{status} {body}")).iter();
        let names = items.map(|item| item["metadata"]["name"].as_str().expect("it has a name"));
        names.map(|name| name.split_once(':').expect("it begins with the catalog").0.to_owned()).collect()
    }

    /// Binds a user to a role that is not there, and compares what the API server says of that with what is said past it.
    fn gives_the_reason_of_the_api_server(&self, user: &str) {
        let group = "rbac.authorization.k8s.io";
        let reference = json!({ "apiGroup": group, "kind": "ClusterRole", "name": "nowhere" });
        self.0.plane.apply(&[json!({
            "apiVersion": format!("{group}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": "nowhere" },
            "roleRef": reference, "subjects": [{ "apiGroup": group, "kind": "User", "name": user }],
        })]);
        let list = format!("get --raw {PACKAGES}");
        let said = eventually(|| Some(self.kubectl(user, &list)).filter(|text| text.contains("\"nowhere\" not found")));
        let headers = format!("X-Remote-User: {user}\r\n");
        let (status, body) = self.ask(Some("front-proxy"), &headers, PACKAGES).expect("there is a response");
        let answer: Value = serde_json::from_str(&body).expect("it is JSON");
        let message = answer["message"].as_str().expect("there is a message");
        assert_eq!((status, said.trim().ends_with(&format!(": {message}"))), (403, true), "{said} {message}");
    }

    /// Keeps a certificate as `former`, which is about to be replaced.
    fn keep_former(&self, name: &str) {
        let plane = &self.0.plane;
        for kind in ["pem", "key"] {
            std::fs::copy(plane.file(&format!("{name}.{kind}")), plane.file(&format!("former.{kind}")))
                .expect("it is there");
        }
    }

    /// Removes all authorities under a key but that of a file: the API server adds its authority and removes none.
    fn publish_only(&self, key: &str, file: &str) {
        let only = std::fs::read_to_string(self.0.plane.file(file)).expect("it is there");
        let patch = json!({ "data": { key: only } }).to_string();
        let name = "configmap/extension-apiserver-authentication";
        self.0.plane.kubectl(&["patch", "--namespace=kube-system", "--type=merge", "--patch", &patch, name]);
    }

    /// The status of a list of packages that is asked past the API server.
    fn status(&self, certificate: Option<&str>, headers: &str) -> Option<u16> {
        self.ask(certificate, headers, PACKAGES).map(|(status, _)| status)
    }
}

/// Gives the users their rights.
fn grant(plane: &ControlPlane) {
    for (user, may_read, sees) in USERS {
        let mut rules = vec![json!({
            "apiGroups": ["olm.operatorframework.io"], "resources": ["clustercatalogs/content"], "verbs": ["get"],
            "resourceNames": sees,
        })];
        // An empty list of names is every name.
        rules.retain(|_| !sees.is_empty());
        if may_read {
            let resources = ["packagemanifests", "packagemanifests/icon"];
            rules.push(json!({ "apiGroups": [GROUP], "resources": resources, "verbs": ["get", "list", "watch"] }));
            rules.push(json!({ "apiGroups": [CATALOGD], "resources": ["*"], "verbs": ["get", "list", "watch"] }));
        }
        bind(plane, user, &rules);
    }
}

/// Gives a user a role of its name with these rules.
fn bind(plane: &ControlPlane, user: &str, rules: &[Value]) {
    let (version, group) = ("rbac.authorization.k8s.io/v1", "rbac.authorization.k8s.io");
    let reference = json!({ "apiGroup": group, "kind": "ClusterRole", "name": user });
    plane.apply(&[
        json!({ "apiVersion": version, "kind": "ClusterRole", "metadata": { "name": user }, "rules": rules }),
        json!({
            "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": { "name": user }, "roleRef": reference,
            "subjects": [{ "apiGroup": group, "kind": "User", "name": user }],
        }),
    ]);
}

/// The headers with which the front proxy asks for a user.
fn proxied(user: &str) -> String {
    format!("X-Remote-User: {user}\r\n")
}

#[test]
fn kubectl_shows_each_user_the_packages_of_its_catalogs_and_no_other() {
    let Some(fixture) = Fixture::start() else { return };
    for (user, may_read, sees) in USERS {
        if !may_read {
            let refused = fixture.lists(user);
            assert!(refused.contains("User \"stranger\" cannot list resource \"packagemanifests\""), "{refused}");
            fixture.gives_the_reason_of_the_api_server(user);
            continue;
        }
        let mut sees = sees.to_vec();
        sees.sort_unstable();
        // The API server learns of roles by a watch.
        eventually(|| (fixture.lists(user) == sees.join(" ")).then_some(()));
        for name in CATALOGS {
            let (get, missing) = (format!("get packagemanifest {name} -n olm"), "get packagemanifest absent -n olm");
            let got = fixture.kubectl(user, &format!("{get} -o name"));
            let icon = fixture.kubectl(user, &format!("get --raw {PACKAGES}/{name}/icon"));
            if sees.contains(&name) {
                assert_eq!((got.trim(), icon.starts_with("<svg")), (&*format!("packagemanifest.{GROUP}/{name}"), true));
            } else {
                let missing = fixture.kubectl(user, missing).replace("absent", name);
                assert_eq!((got, icon.contains("NotFound")), (missing, true), "{icon}");
            }
        }
        let events = fixture.kubectl(user, &format!("get --raw {PACKAGES}?watch=true&timeoutSeconds=1"));
        let named =
            |line: &str| serde_json::from_str::<Value>(line).expect("it is JSON")["object"]["metadata"]["name"].clone();
        // In the order in which the catalogs were loaded.
        let mut watched: Vec<_> = events.lines().map(named).collect();
        watched.sort_by_key(ToString::to_string);
        assert_eq!(watched, sees);
        for resource in OWN {
            assert_eq!(fixture.catalogs_of(user, resource).into_iter().collect::<Vec<_>>(), sees, "{user} {resource}");
        }
    }
}

#[test]
fn each_verb_is_a_right_of_its_own_and_can_be_taken() {
    let Some(fixture) = Fixture::start() else { return };
    let rule = |group: &str, verbs: &[&str]| json!({ "apiGroups": [group], "resources": ["*"], "verbs": verbs });
    bind(&fixture.0.plane, "lister", &[rule(GROUP, &["list"]), rule(CATALOGD, &["watch"])]);
    let statuses = |path: &str| {
        ["", "?watch=true&timeoutSeconds=1"].map(|query| {
            let answer = fixture.ask(Some("front-proxy"), &proxied("lister"), &format!("{path}{query}"));
            answer.expect("there is a response").0
        })
    };
    // The API server learns of roles by a watch, and its answers are believed for ten seconds.
    eventually(|| (statuses(PACKAGES) == [200, 403]).then_some(()));
    for resource in OWN {
        assert_eq!(statuses(&format!("/apis/{CATALOGD}/v1beta1/{resource}")), [403, 200], "{resource}");
    }
    fixture.0.plane.kubectl(&["delete", "clusterrolebinding", "lister"]);
    let begun = Instant::now();
    eventually(|| (statuses(PACKAGES) == [403, 403]).then_some(()));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn whoever_is_not_the_api_server_speaks_for_nobody_else() {
    let Some(mut fixture) = Fixture::start() else { return };
    eventually(|| (fixture.lists("one") == "open").then_some(()));
    let names = |certificate, headers: &str| {
        let (status, body) = fixture.ask(certificate, headers, PACKAGES).expect("there is a response");
        let list: Value = serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {status} {body}"));
        let items = list["items"].as_array().unwrap_or_else(|| panic!("{status} {body}")).iter();
        items.map(|item| item["metadata"]["name"].as_str().expect("it has a name").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(Some("front-proxy"), &proxied("one")), ["open"]);
    assert_eq!(names(Some("front-proxy"), &proxied("everything")), CATALOGS);
    // The administrator is who its certificate says, whatever its headers say.
    assert_eq!(names(Some("admin"), &proxied("none")), CATALOGS);
    fixture.0.plane.kubectl(&["create", "serviceaccount", "reader"]);
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
        (Some("front-proxy"), proxied("everything") + "Impersonate-User: one\r\n", 403),
    ] {
        assert_eq!(fixture.status(certificate, &headers), Some(expected), "{certificate:?} {headers}");
    }
    let document = fixture.ask(None, "", &format!("/apis/{GROUP}/v1")).expect("there is a response");
    assert_eq!(document.0, 200, "{}", document.1);

    fixture.0.plane.stop_api_server();
    assert_eq!(fixture.status(Some("front-proxy"), &proxied("new")), Some(500));
    eventually(|| (fixture.status(Some("front-proxy"), &proxied("everything")) == Some(500)).then_some(()));
    assert_eq!(fixture.ask(None, "", &format!("/apis/{GROUP}/v1")).map(|(status, _)| status), Some(200));
}

#[test]
fn a_new_authority_of_front_proxies_counts_without_a_restart_and_the_former_one_no_longer() {
    let Some(fixture) = Fixture::start() else { return };
    eventually(|| (fixture.lists("one") == "open").then_some(()));
    let user = "X-Remote-User: one\r\n";
    fixture.keep_former("front-proxy");
    assert_eq!(fixture.status(Some("former"), user), Some(200));
    fixture.0.plane.rotate_front_proxy();
    eventually(|| (fixture.status(Some("front-proxy"), user) == Some(200)).then_some(()));
    eventually(|| (fixture.lists("one") == "open").then_some(()));
    fixture.publish_only("requestheader-client-ca-file", "front-proxy-ca.pem");
    eventually(|| (fixture.status(Some("former"), user).is_none_or(|status| status == 401)).then_some(()));
    assert_eq!(fixture.status(Some("front-proxy"), user), Some(200));
    assert_eq!(fixture.lists("one"), "open");
}

#[test]
fn a_new_authority_of_users_counts_without_a_restart_and_the_former_one_no_longer() {
    let Some(fixture) = Fixture::start() else { return };
    fixture.keep_former("admin");
    assert_eq!(fixture.status(Some("former"), ""), Some(200));
    fixture.0.plane.rotate_users();
    eventually(|| (fixture.status(Some("admin"), "") == Some(200)).then_some(()));
    // Until the API server knows the administrator's new certificate, too.
    eventually(|| (fixture.lists("one") == "open").then_some(()));
    assert_eq!(fixture.status(Some("former"), ""), Some(200), "both count until the former one is taken away");
    fixture.publish_only("client-ca-file", "client-ca.pem");
    eventually(|| (fixture.status(Some("former"), "").is_none_or(|status| status == 401)).then_some(()));
    assert_eq!(fixture.status(Some("admin"), ""), Some(200));
}
