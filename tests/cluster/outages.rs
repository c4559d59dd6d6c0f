//! Catalogs that change at random while the API server restarts, forgets and cannot be reached:
//! what is served is what is wanted, and status is written when it changes and not more often.
//!
//! `CATALOGQL_CHURN=SEED:CATALOGS:ROUNDS:SECONDS` searches elsewhere or longer: with so many
//! catalogs, at least so many rounds of changes and at least so long.

use std::collections::BTreeMap;
use std::env;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testing::{Link, SeededRandom, eventually};

use crate::support::{
    Cluster, Load, NAMESPACE, PACKAGES, Replica, SERVICE_ACCOUNT, catalog, image, package, with,
};

/// What the test does without `CATALOGQL_CHURN`.
const CHURN: &str = "15:40:24:0";

/// How many images there are, each with a package of its own.
const IMAGES: usize = 5;

/// How many catalogs change in a round, at most.
const CHANGES: usize = 6;

/// For which part of the time the link is cut at once, at most.
const CUTS: u32 = 5;

/// How many writes of status a change may cost at most: one for what is withdrawn or pending, one
/// for what is served, and one that another has made obsolete.
const WRITES_FOR_A_CHANGE: usize = 3;

/// How many writes of metadata a change may cause at most: of the name and the finalizer, and of the
/// digest of the content.
const METADATA_WRITES_FOR_A_CHANGE: usize = 2;

/// How much more memory, in KiB and not of files, a replica may take at the end than once it has
/// served every catalog.
const GROWTH_KIB: u64 = 48 * 1024;

/// Asks for what catalogs say of themselves that changes.
const STATE: &str = "{ catalogs { name priority image packages { nodes { name } } } }";

/// What an object asks for.
#[derive(Clone, Debug, PartialEq)]
struct Wanted {
    image: usize,
    is_available: bool,
    priority: i32,
}

/// The objects as they should be, and how often they changed.
struct Churn {
    cluster: Cluster,
    random: SeededRandom,
    /// References by tag and by digest, for each image.
    images: Vec<[String; 2]>,
    names: Vec<String>,
    wanted: BTreeMap<String, Wanted>,
    changes: usize,
    /// Since when the link to the API server is cut.
    cut: Option<Instant>,
}

impl Churn {
    /// No catalogs yet, of these many names.
    fn new(cluster: Cluster, seed: u64, catalogs: usize) -> Self {
        let images = (0..IMAGES).map(|number| {
            let image = image(&package(&format!("p{number}")));
            let by_tag = cluster.push_image("ns/churn", &format!("v{number}"), &image);
            [
                by_tag,
                format!("{}/ns/churn@{}", cluster.registry.address, image.digest()),
            ]
        });
        let images = images.collect();
        let names = (0..catalogs)
            .map(|number| format!("c{number:03}"))
            .collect();
        let random = SeededRandom::new(seed);
        Self {
            cluster,
            random,
            images,
            names,
            wanted: BTreeMap::new(),
            changes: 0,
            cut: None,
        }
    }

    /// What happens to the API server, besides changes, after the round of this number. The link
    /// stays cut for at least this time.
    fn disturb(&mut self, round: usize, link: &Link, cut_for: Duration) {
        match round % 8 {
            2 if self.cut.is_none() => {
                link.cut();
                self.cut = Some(Instant::now());
            }
            5 if self.cut.is_some_and(|cut| cut.elapsed() >= cut_for) => {
                link.mend();
                self.cut = None;
            }
            // What the watch was told last is forgotten: it is answered with 410.
            7 => {
                self.cluster.plane.compact();
                self.cluster.plane.stop_api_server();
                self.cluster.plane.start_api_server();
            }
            _ => {}
        }
    }

    /// Creates, changes or deletes some catalogs.
    fn round(&mut self) {
        let mut applied = BTreeMap::new();
        let mut deleted = Vec::new();
        for _ in 0..=self.random.below(CHANGES) {
            let name = self.random.choose(&self.names).clone();
            if applied.contains_key(&name) || deleted.contains(&name) {
                continue;
            }
            if self.wanted.contains_key(&name) && self.random.below(3) == 0 {
                self.wanted.remove(&name);
                deleted.push(name);
            } else {
                let wanted = self.any();
                applied.insert(name.clone(), self.object(&name, &wanted));
                self.wanted.insert(name, wanted);
            }
        }
        self.changes += applied.len() + deleted.len();
        if !applied.is_empty() {
            self.cluster
                .plane
                .apply(&applied.into_values().collect::<Vec<_>>());
        }
        if !deleted.is_empty() {
            let names: Vec<_> = deleted.iter().map(String::as_str).collect();
            self.cluster
                .plane
                .kubectl(&[&["delete", "clustercatalog"], &names[..]].concat());
        }
    }

    fn any(&mut self) -> Wanted {
        let priority = i32::try_from(self.random.below(10)).expect("it is small");
        Wanted {
            image: self.random.below(IMAGES),
            is_available: self.random.below(4) != 0,
            priority,
        }
    }

    fn object(&mut self, name: &str, wanted: &Wanted) -> Value {
        let mode = if wanted.is_available {
            "Available"
        } else {
            "Unavailable"
        };
        let reference = self.random.choose(&self.images[wanted.image]).clone();
        let object = with(
            catalog(name, &reference),
            &["spec", "availabilityMode"],
            json!(mode),
        );
        with(object, &["spec", "priority"], json!(wanted.priority))
    }

    /// The answer to [`STATE`] when what is served is what is wanted.
    fn expected(&self) -> Value {
        let mut available: Vec<_> = self
            .wanted
            .iter()
            .filter(|(_, wanted)| wanted.is_available)
            .collect();
        // Highest first, and by name where they are equal.
        available.sort_by_key(|(_, wanted)| -wanted.priority);
        let state = |(name, wanted): (&String, &Wanted)| {
            let nodes = json!([{ "name": format!("p{}", wanted.image) }]);
            let image = &self.images[wanted.image][1];
            json!({ "name": name, "priority": wanted.priority, "image": image, "packages": { "nodes": nodes } })
        };
        json!({ "catalogs": available.into_iter().map(state).collect::<Vec<_>>() })
    }

    /// Waits until every status says what is served, for the present spec.
    fn status_is_true(&self) {
        let say = |name: &str, wanted: &Wanted| {
            let reason = if wanted.is_available {
                "Available"
            } else {
                "UserSpecifiedUnavailable"
            };
            let image = wanted
                .is_available
                .then(|| json!(self.images[wanted.image][1]));
            (name.to_owned(), json!(reason), image.unwrap_or_default())
        };
        let expected: Vec<_> = self
            .wanted
            .iter()
            .map(|(name, wanted)| say(name, wanted))
            .collect();
        eventually(|| {
            let list = self.cluster.plane.get(&["clustercatalogs"]);
            let said = list["items"].as_array()?.iter().map(|object| {
                let conditions = object["status"]["conditions"].as_array()?.iter();
                let serving = conditions
                    .clone()
                    .find(|condition| condition["type"] == "Serving")?;
                let is_current = serving["observedGeneration"] == object["metadata"]["generation"];
                let image = &object["status"]["resolvedSource"]["image"]["ref"];
                let name = object["metadata"]["name"].as_str()?.to_owned();
                is_current.then(|| (name, serving["reason"].clone(), image.clone()))
            });
            (said.collect::<Option<Vec<_>>>()? == expected).then_some(())
        });
    }
}

/// How often this program wrote status, and the metadata of objects.
fn writes(cluster: &Cluster) -> (usize, usize) {
    let log = cluster.plane.audit_log();
    let is_write = |event: &&Value| {
        event["verb"] == "patch" && event["objectRef"]["resource"] == "clustercatalogs"
    };
    let (status, metadata): (Vec<_>, Vec<_>) = log
        .iter()
        .filter(is_write)
        .partition(|event| event["objectRef"]["subresource"] == "status");
    (status.len(), metadata.len())
}

/// Seed, catalogs, rounds and seconds.
fn scale() -> (u64, usize, usize, Duration) {
    let text = env::var("CATALOGQL_CHURN").unwrap_or_else(|_| CHURN.to_owned());
    let numbers: Vec<u64> = text
        .split(':')
        .map(|number| number.parse().expect("numbers"))
        .collect();
    let [seed, catalogs, rounds, seconds] = numbers[..] else {
        panic!("write SEED:CATALOGS:ROUNDS:SECONDS")
    };
    let count = |number: u64| usize::try_from(number).expect("it is small");
    (
        seed,
        count(catalogs),
        count(rounds),
        Duration::from_secs(seconds),
    )
}

#[test]
fn what_is_served_is_what_is_wanted_whatever_happens_to_the_api_server() {
    let Some(cluster) = Cluster::start() else {
        return;
    };
    let (seed, catalogs, rounds, at_least) = scale();
    let link = Link::start(cluster.plane.address);
    let kubeconfig =
        cluster
            .plane
            .service_account_kubeconfig(NAMESPACE, SERVICE_ACCOUNT, link.address);
    let replica = Replica::start_at(&cluster, "one", &kubeconfig, &[]).ready();
    let load = Load::start(replica.address, PACKAGES, |answer| {
        !answer.contains("\"errors\"")
    });
    let mut churn = Churn::new(cluster, seed, catalogs);
    let started = Instant::now();
    let mut round = 0;
    let mut memory = 0;
    while round < rounds || started.elapsed() < at_least {
        round += 1;
        churn.round();
        churn.disturb(round, &link, at_least / CUTS);
        if round == rounds / 2 {
            memory = replica.memory_kib();
        }
    }
    link.mend();
    replica.answers(STATE, &churn.expected());
    churn.status_is_true();
    let answered = load.finish();
    let elapsed = started.elapsed();
    let at_end = replica.memory_kib();
    let (status, metadata) = writes(&churn.cluster);
    let changes = churn.changes;
    println!(
        "{changes} changes in {round} rounds and {elapsed:?}: {status} writes of status, {metadata} of metadata, \
         {answered} queries, {memory} KiB at half, {at_end} KiB at the end"
    );
    assert!(
        status <= WRITES_FOR_A_CHANGE * changes,
        "{status} writes for {changes} changes"
    );
    assert!(
        metadata <= METADATA_WRITES_FOR_A_CHANGE * changes,
        "{metadata} writes of metadata for {changes} changes"
    );
    assert!(
        at_end <= memory + GROWTH_KIB,
        "{memory} KiB became {at_end}"
    );
    drop(replica);
    nothing_true_is_written_again(&mut churn);
}

/// Lets a new replica write status, which finds all of it true but that of one catalog.
fn nothing_true_is_written_again(churn: &mut Churn) {
    let (before, _) = writes(&churn.cluster);
    churn.cluster.plane.stop_api_server();
    churn.cluster.plane.start_api_server();
    let next = Replica::start(&churn.cluster, "two", &[]).ready();
    next.answers(STATE, &churn.expected());
    churn
        .cluster
        .plane
        .apply(&[catalog("last", &churn.images[0][0])]);
    churn.cluster.wait_for("last", "Serving", "Available");
    let (after, _) = writes(&churn.cluster);
    assert!(
        after <= before + WRITES_FOR_A_CHANGE,
        "{before} writes became {after}"
    );
}
