//! Policies that change while a catalog is served and between two starts, without the registry: what
//! is served, and what is said of it.

use serde_json::json;

use super::signatures::SignedFixture;
use crate::support::{
    CONFIGS_LABEL, ETCD, MediaTypes, RegistryImage, Server, graphql, lines, tar_archive,
};

/// Asks what is served, and what the policy decides about it.
const VERDICTS: &str =
    "{ catalogStatuses { catalog { name } verification { reason { code } signed state } } }";

/// What a server says of its only catalog.
#[derive(Clone, Copy)]
enum Said {
    Verified,
    /// Refused for this reason, and served or withdrawn.
    Refused(&'static str, Withdrawal),
}

/// Whether a refused catalog stays served.
#[derive(Clone, Copy)]
enum Withdrawal {
    Served,
    Withdrawn,
}

/// A registry with a signed catalog, and a policy.
struct Verdicts {
    fixture: SignedFixture,
    source: String,
    withdrawal: Withdrawal,
}

impl Said {
    fn answer(self) -> String {
        let served = json!({ "name": "catalog" });
        let status = match self {
            Self::Verified => {
                json!({ "catalog": served, "verification": { "state": "VERIFIED", "signed": "MANIFEST", "reason": null } })
            }
            Self::Refused(code, withdrawal) => {
                let catalog = match withdrawal {
                    Withdrawal::Served => served,
                    Withdrawal::Withdrawn => json!(null),
                };
                json!({ "catalog": catalog, "verification": { "state": "REFUSED", "signed": null, "reason": { "code": code } } })
            }
        };
        json!({ "data": { "catalogStatuses": [status] } }).to_string()
    }
}

impl Verdicts {
    fn new(withdrawal: Withdrawal) -> Self {
        let text = lines(ETCD);
        let layers = [tar_archive(&[("configs/catalog.json", text.as_bytes())])];
        let image = RegistryImage::image(MediaTypes::Oci, &layers, &[(CONFIGS_LABEL, "/configs")]);
        let fixture = SignedFixture::with_image(image.clone());
        let source = fixture.name();
        fixture.sign(&image, "release", &source, &image.digest());
        Self {
            fixture,
            source,
            withdrawal,
        }
    }

    fn start(&self, more: &[&str]) -> Server {
        let policy = self.fixture.folders.text("policy.json");
        let lookup = self.fixture.folders.text("registries.d");
        let insecure = self.fixture.address().to_string();
        // A server with nothing to serve would end otherwise.
        let mut flags = vec!["--watch", "--poll", "1h", "--insecure-registry", &insecure];
        if !more.contains(&"--no-signature-policy") {
            flags.extend(["--signature-policy", &policy, "--registries-d", &lookup]);
        }
        if matches!(self.withdrawal, Withdrawal::Withdrawn) {
            flags.push("--policy-withdraws");
        }
        flags.extend(more);
        flags.push(&self.source);
        Server::start(&self.fixture.folders, &flags)
    }

    fn refused(&self, code: &'static str) -> Said {
        Said::Refused(code, self.withdrawal)
    }

    /// Requires a signature of this key.
    fn require(&self, key: &str) {
        let mut requirements = self.fixture.signed("matchExact");
        requirements[0]["keyPath"] = self.fixture.folders.text(&format!("{key}.pub")).into();
        self.fixture.write_policy(&requirements);
    }

    /// Reloads the policy, or else restarts the server, and waits for what it says.
    fn check(&self, server: &mut Option<Server>, restarts: bool, expected: Said) {
        if restarts {
            drop(server.take());
        }
        let server = match server {
            Some(server) => {
                server.signal("HUP");
                server
            }
            None => server.insert(self.start(&[])),
        };
        server.answers_in_time(VERDICTS, &expected.answer());
    }

    /// Changes the policy in every way, without the registry.
    fn changes(mut self, restarts: bool) {
        self.require("release");
        let mut server = Some(self.start(&[]));
        self.check(&mut server, false, Said::Verified);
        self.fixture.registry.stop();

        // Tightened, to another key and to none, and loosened again.
        self.require("other");
        let refused = self.refused("SIGNATURE_NOT_VERIFIED");
        self.check(&mut server, restarts, refused);
        let logged = "the signature policy refuses the content of the catalog";
        server.as_ref().unwrap().logs(logged);
        self.fixture.write_policy(&json!([{ "type": "reject" }]));
        self.check(&mut server, restarts, self.refused("POLICY_REJECTS"));
        self.require("release");
        self.check(&mut server, restarts, Said::Verified);

        // The key is swapped below the same policy, and back.
        let folders = &self.fixture.folders;
        let [release, other] =
            ["release.pub", "other.pub"].map(|name| std::fs::read(folders.path(name)).unwrap());
        folders.write("release.pub", other);
        self.check(&mut server, restarts, refused);
        folders.write("release.pub", release);
        self.check(&mut server, restarts, Said::Verified);

        // What cannot be read changes nothing that is served.
        folders.write("policy.json", "{");
        if restarts {
            self.check(&mut server, true, Said::Verified);
        } else {
            let server = server.as_ref().unwrap();
            server.signal("HUP");
            server.logs("cannot reload the configuration, keeping the last one");
            assert_eq!(graphql(server.address, VERDICTS), Said::Verified.answer());
        }
    }
}

#[test]
fn a_policy_that_changes_while_a_catalog_is_served_is_said_and_withdraws_it_only_if_asked() {
    Verdicts::new(Withdrawal::Served).changes(false);
    Verdicts::new(Withdrawal::Withdrawn).changes(false);
}

#[test]
fn a_policy_that_changed_between_two_starts_is_said_and_withdraws_the_catalog_only_if_asked() {
    Verdicts::new(Withdrawal::Served).changes(true);
    Verdicts::new(Withdrawal::Withdrawn).changes(true);
}

#[test]
fn signatures_that_were_not_needed_when_an_image_was_loaded_are_asked_for_when_they_are() {
    for withdrawal in [Withdrawal::Served, Withdrawal::Withdrawn] {
        let mut verdicts = Verdicts::new(withdrawal);
        let server = verdicts.start(&["--no-signature-policy"]);
        server.logs("no signature policy: every image is accepted");
        let none = json!({ "data": { "catalogStatuses": [{
            "catalog": { "name": "catalog" },
            "verification": { "state": "NONE", "signed": null, "reason": null },
        }] } });
        assert_eq!(graphql(server.address, VERDICTS), none.to_string());
        drop(server);

        verdicts.require("release");
        verdicts.fixture.registry.stop();
        let server = verdicts.start(&[]);
        let unknown = verdicts.refused("SIGNATURE_UNREACHABLE");
        server.answers_in_time(VERDICTS, &unknown.answer());
        drop(server);
        verdicts.fixture.registry.resume();
        let server = verdicts.start(&[]);
        server.answers_in_time(VERDICTS, &Said::Verified.answer());
    }
}

#[test]
fn resolvers_insist_on_verified_catalogs_and_list_the_others() {
    let verdicts = Verdicts::new(Withdrawal::Served);
    let resolve = "{ resolve(request: { packageName: \"etcd\", requireVerified: true }) { \
                   ... on Resolution { bundle { name } } ... on ResolutionFailure { code message } } }";
    let names = "{ catalogs(verification: [VERIFIED]) { name } }";
    let accepted = json!([{ "type": "insecureAcceptAnything" }]);
    verdicts.fixture.write_policy(&accepted);
    let server = verdicts.start(&[]);
    let failed = json!({ "data": { "resolve": {
        "code": "CATALOG_NOT_VERIFIED",
        "message": "verified catalogs are required, and only catalogs that are not have the package `etcd`: `catalog`",
    } } });
    assert_eq!(graphql(server.address, resolve), failed.to_string());
    let none = json!({ "data": { "catalogs": [] } });
    assert_eq!(graphql(server.address, names), none.to_string());

    // The same content: no response may come from a cache.
    verdicts.require("release");
    server.signal("HUP");
    let found = json!({ "data": { "resolve": { "bundle": { "name": "etcd.v0.9.4" } } } });
    server.answers_in_time(resolve, &found.to_string());
    let one = json!({ "data": { "catalogs": [{ "name": "catalog" }] } });
    assert_eq!(graphql(server.address, names), one.to_string());
}
