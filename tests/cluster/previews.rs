//! Previews of installs on a real API server: it accepts what is rendered, and allows what the
//! rights say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use install_preview::rights::{RightAtom, Rights, flags};
use install_preview::summary::{AccountPermission, InstallSummary};
use install_preview::{
    BundleManifestFile, CertificateProvider, InstallerAccount, RbacRule, RegistryBundle,
    RenderOptions, RenderedObject, Rendering, RightsFlag, RightsScope, installer_rbac, render,
};
use serde_json::{Value, json};
use testing::corpus::{InlineBundle, find_catalog, inline_bundles};
use testing::{ControlPlane, SeededRandom, eventually, golden};

/// Recordings of upstream's renderer.
const RECORDED: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/crates/install-preview/tests/testdata/golden/recorded.jsonl.gz"
);

/// The API version of definitions that the API server knows.
const DEFINITION: &str = "apiextensions.k8s.io/v1";

/// The API version of definitions of bundles for Kubernetes before 1.22.
const OLD_DEFINITION: &str = "apiextensions.k8s.io/v1beta1";

/// Definitions of what installs create and the API server does not know by itself; bundles of
/// cert-manager and Prometheus have them.
const FOREIGN_KINDS: [&str; 3] = [
    "certificates.cert-manager.io",
    "issuers.cert-manager.io",
    "prometheusrules.monitoring.coreos.com",
];

/// Number of objects that kubectl gets at once.
const BATCH: usize = 200;

/// Reads a bundle of the corpus.
pub(crate) fn read(bundle: &InlineBundle) -> RegistryBundle {
    let files = bundle.files.iter().enumerate();
    let files: Vec<_> = files
        .map(|(at, bytes)| BundleManifestFile {
            name: format!("{at:04}.yaml").into(),
            bytes: bytes.into(),
        })
        .collect();
    RegistryBundle::read(&bundle.package, &files).expect("the bundle can be read")
}

fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

/// The options of a recorded case.
fn options(case: &Value) -> RenderOptions {
    RenderOptions {
        install_namespace: case["installNamespace"]
            .as_str()
            .expect("it is text")
            .to_owned(),
        watch_namespaces: serde_json::from_value(case["targetNamespaces"].clone())
            .unwrap_or_default(),
        certificates: match case["certificateProvider"].as_str() {
            Some("cert-manager") => Some(CertificateProvider::CertManager),
            Some("service-ca") => Some(CertificateProvider::ServiceCa),
            _ => None,
        },
        deployment_config: None,
    }
}

/// Renders every recorded case, and returns each different object once: a dry run of an object does
/// not depend on others. Of the definitions of v1, which take the API server a tenth of a second
/// each, it returns one for each name and conversion strategy, the last of the catalog: an install
/// changes nothing else in them.
fn recorded_objects(catalog: &Path) -> Vec<Value> {
    let mut cases: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
    for case in golden::cases(RECORDED) {
        let text = |key: &str| case[key].as_str().expect("it is text").to_owned();
        let key = (text("package"), text("bundle"));
        cases.entry(key).or_default().push(case);
    }
    let key = |package: &str, bundle: &str| (package.to_owned(), bundle.to_owned());
    let is_recorded = |package: &str, bundle: &str| cases.contains_key(&key(package, bundle));
    let mut objects = BTreeMap::new();
    for bundle in inline_bundles(catalog, is_recorded).flatten() {
        let manifests = read(&bundle);
        for case in &cases[&key(&bundle.package, &bundle.name)] {
            // The recordings of refusals are tested where they lie.
            let Ok(rendering) = render(&manifests, &options(case)) else {
                continue;
            };
            for object in &rendering.objects {
                objects.insert(sampling_key(object), object.json.clone().into_owned());
            }
        }
    }
    let objects = objects.values();
    let parsed = objects.map(|json| serde_json::from_str(json).expect("it is JSON"));
    parsed.collect()
}

fn sampling_key(object: &RenderedObject<'_>) -> String {
    if object.kind == "CustomResourceDefinition" && object.api_version == DEFINITION {
        let is_converted = object.json.contains(r#""strategy":"Webhook""#);
        format!("{} {is_converted}", object.name)
    } else {
        object.json.clone().into_owned()
    }
}

impl DryRun {
    fn add(&mut self, other: Self) {
        self.accepted += other.accepted;
        for (refusal, count) in other.refusals {
            *self.refusals.entry(refusal).or_default() += count;
        }
    }
}

/// User of a service account, which is written NAMESPACE/NAME.
fn user_of(account: &str) -> String {
    format!("system:serviceaccount:{}", account.replace('/', ":"))
}

/// Result of a dry run: number of accepted objects, and how often each refusal occurs.
#[derive(Debug, Default, PartialEq, Eq)]
struct DryRun {
    accepted: usize,
    refusals: BTreeMap<String, usize>,
}

/// Lets the API server try to apply objects, as administrator or as a service account.
fn dry_run(plane: &ControlPlane, objects: &[Value], account: Option<&str>) -> DryRun {
    let user = account.map(|account| format!("--as={}", user_of(account)));
    let mut result = DryRun::default();
    for batch in objects.chunks(BATCH) {
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": batch });
        let mut arguments = vec!["apply", "--server-side", "--dry-run=server", "-f", "-"];
        arguments.extend(user.as_deref());
        let output = plane.try_kubectl(&arguments, &list.to_string());
        result.accepted += output.stdout.lines().count();
        let refusals = output.stderr.lines();
        for line in refusals.filter(|line| !line.starts_with("Warning: ")) {
            *result.refusals.entry(line.to_owned()).or_default() += 1;
        }
    }
    result
}

#[test]
fn the_api_server_accepts_what_is_rendered_of_the_recorded_bundles() {
    let Some(catalog) = find_catalog("community-objects") else {
        return;
    };
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    plane.apply(&["install-ns", "watched-ns", "one", "two", "other"].map(namespace));
    let objects = recorded_objects(&catalog);
    let (definitions, others): (Vec<_>, Vec<_>) = objects
        .into_iter()
        .partition(|object| object["kind"] == "CustomResourceDefinition");

    // Bundles for Kubernetes before 1.22, in an API version that no server has since then.
    let old_form = "unable to recognize no matches for kind \"CustomResourceDefinition\" in version \"apiextensions.k8s.io/v1beta1\"";
    let tried = dry_run(&plane, &definitions, None);
    assert_eq!(tried.refusals, BTreeMap::from([(old_form.to_owned(), 44)]));
    assert_eq!(tried.accepted, definitions.len() - 44);
    assert!(tried.accepted > 100, "{}", tried.accepted);

    let needed: Vec<_> = definitions
        .into_iter()
        .filter(|definition| {
            FOREIGN_KINDS.contains(&definition["metadata"]["name"].as_str().unwrap())
                && definition["apiVersion"] == DEFINITION
                && definition["spec"]["conversion"]["strategy"] != "Webhook"
        })
        .collect();
    plane.apply(&needed);
    plane.kubectl(&[
        "wait",
        "--for=condition=Established",
        "--timeout=60s",
        "crd",
        "--all",
    ]);
    let tried = dry_run(&plane, &others, None);
    assert_eq!(tried.refusals, BTreeMap::new());
    assert_eq!(tried.accepted, others.len());
    assert!(tried.accepted > 900, "{}", tried.accepted);
}

/// Packages whose rights are asked for: a bundle of each.
const PACKAGES: [&str; 10] = [
    "argocd-operator",
    "camel-k",
    "cert-manager",
    "datadog-operator",
    "eclipse-che",
    "etcd",
    "grafana-operator",
    "jaeger",
    "mariadb-operator",
    "prometheus",
];

/// Number of random questions about rights.
const QUESTIONS: usize = 1_000;

/// A right, and who may have it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AccessQuestion {
    /// Service account, as NAMESPACE/NAME.
    account: String,
    atom: RightAtom,
}

impl AccessQuestion {
    fn review(&self) -> Value {
        let mut spec = json!({ "user": user_of(&self.account) });
        let atom = &self.atom;
        match &atom.group {
            None => {
                spec["nonResourceAttributes"] = json!({ "path": atom.resource, "verb": atom.verb });
            }
            Some(group) => {
                let (resource, subresource) = atom
                    .resource
                    .split_once('/')
                    .unwrap_or((&atom.resource, ""));
                spec["resourceAttributes"] = json!({
                    "group": group, "resource": resource, "subresource": subresource,
                    "verb": atom.verb, "name": atom.name, "namespace": atom.namespace,
                });
            }
        }
        json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec })
    }
}

/// Asks the API server.
fn answers(plane: &ControlPlane, questions: &[AccessQuestion]) -> Vec<bool> {
    let reviews: Vec<_> = questions.iter().map(AccessQuestion::review).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": reviews });
    let form = "-o=jsonpath={.status.allowed}{\"\\n\"}";
    let output = plane.try_kubectl(&["create", "-f", "-", form], &list.to_string());
    assert!(output.success, "{}", output.stderr);
    let answers: Vec<_> = output.stdout.lines().map(|line| line == "true").collect();
    assert_eq!(answers.len(), questions.len());
    answers
}

/// A bundle of each package, the last of the recorded ones.
fn bundles_of_ten(catalog: &Path) -> Vec<(String, RegistryBundle)> {
    let mut last = BTreeMap::new();
    for case in golden::cases(RECORDED) {
        let text = |key: &str| case[key].as_str().expect("it is text").to_owned();
        last.insert(text("package"), text("bundle"));
    }
    let bundles = inline_bundles(catalog, |package, bundle| {
        PACKAGES.contains(&package) && last[package] == bundle
    });
    let bundles: Vec<_> = bundles
        .flatten()
        .map(|bundle| (bundle.package.clone(), read(&bundle)))
        .collect();
    assert_eq!(bundles.len(), PACKAGES.len());
    bundles
}

/// Renders a bundle into the namespace of its package. Every second one watches namespaces, where it
/// can.
fn rendering<'a>(at: usize, package: &str, bundle: &'a RegistryBundle) -> Rendering<'a> {
    let own = || package.to_owned();
    let mut choices = vec![vec![own(), "other".to_owned()], vec![own()], Vec::new()];
    if at.is_multiple_of(2) {
        choices.reverse();
    }
    let rendering = choices.into_iter().find_map(|watch_namespaces| {
        let options = RenderOptions {
            install_namespace: own(),
            watch_namespaces,
            ..RenderOptions::default()
        };
        render(bundle, &options).ok()
    });
    rendering.expect("one of the namespaces is supported")
}

fn objects_of(rendering: &Rendering<'_>) -> Vec<Value> {
    rendering
        .objects
        .iter()
        .map(RenderedObject::value)
        .collect()
}

/// Installs the rights of a bundle of each package, and returns them.
fn install_rights(plane: &ControlPlane, catalog: &Path) -> Vec<AccountPermission> {
    let mut permissions = Vec::new();
    for (at, (package, bundle)) in bundles_of_ten(catalog).iter().enumerate() {
        let rendering = rendering(at, package, bundle);
        let summary = InstallSummary::of(&rendering, package).expect("its rights can be read");
        plane.apply(&[namespace(package)]);
        let mut objects = objects_of(&rendering);
        objects.retain(|object| {
            let kind = object["kind"].as_str().expect("it is text");
            kind == "ServiceAccount" || kind.contains("Role")
        });
        plane.apply(&objects);
        permissions.extend(summary.permissions);
    }
    permissions
}

/// Rights of each account.
fn rights_of(permissions: &[AccountPermission]) -> BTreeMap<String, Rights> {
    let mut rights: BTreeMap<String, Rights> = BTreeMap::new();
    for permission in permissions {
        let account = rights
            .entry(permission.service_account.clone())
            .or_default();
        for namespace in namespaces_of(permission) {
            assert!(account.add(&permission.rules, namespace));
        }
    }
    rights
}

/// Namespaces of a permission; `None` for the cluster.
fn namespaces_of(permission: &AccountPermission) -> Vec<Option<&str>> {
    match permission.scope {
        RightsScope::Cluster => vec![None],
        RightsScope::Namespace => permission
            .namespaces
            .iter()
            .map(|name| Some(&**name))
            .collect(),
    }
}

/// Words of random questions.
struct Vocabulary<'a> {
    permissions: &'a [AccountPermission],
    groups: Vec<String>,
    resources: Vec<String>,
    verbs: Vec<String>,
    names: Vec<Option<String>>,
    namespaces: Vec<Option<String>>,
    paths: Vec<String>,
}

impl<'a> Vocabulary<'a> {
    fn of(permissions: &'a [AccountPermission]) -> Self {
        let rules = || permissions.iter().flat_map(|permission| &permission.rules);
        let words = |of: fn(&RbacRule) -> &[String], more: &[&str]| {
            let mut words: BTreeSet<String> = rules().flat_map(of).cloned().collect();
            words.extend(more.iter().map(|&word| word.to_owned()));
            words.retain(|word| !word.contains('*'));
            Vec::from_iter(words)
        };
        let optional = |words: Vec<String>| -> Vec<Option<String>> {
            [None]
                .into_iter()
                .chain(words.into_iter().map(Some))
                .collect()
        };
        Self {
            permissions,
            groups: words(|rule| &rule.api_groups, &["example.com"]),
            resources: words(|rule| &rule.resources, &["pods/exec", "nodes", "widgets"]),
            verbs: words(|rule| rule.verbs.as_deref().unwrap_or(&[]), &["escalate"]),
            names: optional(words(|rule| &rule.resource_names, &["other"])),
            namespaces: optional(
                permissions
                    .iter()
                    .flat_map(|permission| permission.namespaces.clone())
                    .chain(["other".to_owned(), "default".to_owned()])
                    .collect::<BTreeSet<_>>()
                    .into_iter()
                    .collect(),
            ),
            paths: words(
                |rule| &rule.non_resource_urls,
                &["/metrics", "/healthz/etcd", "/"],
            ),
        }
    }

    fn question(&self, random: &mut SeededRandom) -> AccessQuestion {
        let permission = random.choose(self.permissions);
        let account = permission.service_account.clone();
        let is_near = random.below(2) == 0 && !permission.rules.is_empty();
        let mut atom = if is_near {
            self.near(random, permission)
        } else {
            self.any(random)
        };
        if is_near && random.below(2) == 0 {
            let other = self.any(random);
            match random.below(4) {
                0 => atom.verb = other.verb,
                1 => atom.name = other.name,
                2 => atom.namespace = other.namespace,
                _ if atom.group.is_some() == other.group.is_some() => {
                    atom.resource = other.resource;
                }
                _ => {}
            }
            if atom.group.is_none() {
                (atom.name, atom.namespace) = (None, None);
            }
        }
        AccessQuestion { account, atom }
    }

    fn any(&self, random: &mut SeededRandom) -> RightAtom {
        if random.below(20) == 0 {
            let path = random.choose::<String>(&self.paths);
            return path_atom(path, random.choose::<String>(&self.verbs));
        }
        RightAtom {
            namespace: random.choose(&self.namespaces).clone(),
            group: Some(random.choose(&self.groups).clone()),
            resource: random.choose(&self.resources).clone(),
            name: random.choose(&self.names).clone(),
            verb: random.choose(&self.verbs).clone(),
        }
    }

    /// A right that a rule grants.
    fn near(&self, random: &mut SeededRandom, permission: &AccountPermission) -> RightAtom {
        let rule = random.choose(&permission.rules);
        let pick = |random: &mut SeededRandom, of: &[String], all: &[String]| {
            let word = if of.is_empty() {
                random.choose(all)
            } else {
                random.choose(of)
            };
            match word.strip_prefix('*') {
                None => word.clone(),
                Some("") => random.choose(all).clone(),
                Some(subresource) => format!("pods{subresource}"),
            }
        };
        let verb = pick(random, rule.verbs.as_deref().unwrap_or(&[]), &self.verbs);
        if !rule.non_resource_urls.is_empty() {
            let path = random.choose(&rule.non_resource_urls);
            let path = match path.strip_suffix('*') {
                Some(prefix) => format!("{prefix}{}", random.choose(&["", "a", "a/b"])),
                None => path.clone(),
            };
            return path_atom(&path, &verb);
        }
        let names: Vec<_> = rule.resource_names.iter().cloned().map(Some).collect();
        RightAtom {
            namespace: random
                .choose(&namespaces_of(permission))
                .map(str::to_owned)
                .or_else(|| random.choose(&self.namespaces).clone()),
            group: Some(pick(random, &rule.api_groups, &self.groups)),
            resource: pick(random, &rule.resources, &self.resources),
            name: if names.is_empty() {
                random.choose(&self.names).clone()
            } else {
                random.choose(&names).clone()
            },
            verb,
        }
    }
}

fn path_atom(path: &str, verb: &str) -> RightAtom {
    RightAtom {
        namespace: None,
        group: None,
        resource: path.to_owned(),
        name: None,
        verb: verb.to_owned(),
    }
}

/// Waits until the API server knows every binding.
fn wait_for_rights(plane: &ControlPlane, permissions: &[AccountPermission]) {
    let mut probes = Vec::new();
    for permission in permissions {
        for namespace in namespaces_of(permission) {
            let mut rights = Rights::default();
            assert!(rights.add(&permission.rules, namespace));
            let first = rights
                .beyond(&Rights::default())
                .into_iter()
                .next()
                .cloned();
            probes.extend(first.map(|atom| AccessQuestion {
                account: permission.service_account.clone(),
                atom,
            }));
        }
    }
    eventually(|| {
        answers(plane, &probes)
            .into_iter()
            .all(|allowed| allowed)
            .then_some(())
    });
}

#[test]
fn rights_of_ten_bundles_are_those_that_the_api_server_grants() {
    let Some(catalog) = find_catalog("community-objects") else {
        return;
    };
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    plane.apply(&[namespace("other")]);
    let permissions = install_rights(&plane, &catalog);
    wait_for_rights(&plane, &permissions);

    let rights = rights_of(&permissions);
    let vocabulary = Vocabulary::of(&permissions);
    let mut random = SeededRandom::new(43);
    let questions: Vec<_> = (0..QUESTIONS)
        .map(|_| vocabulary.question(&mut random))
        .collect();
    let allowed = answers(&plane, &questions);
    let wrong: Vec<_> = questions
        .iter()
        .zip(&allowed)
        .filter(|(question, allowed)| rights[&question.account].allow(&question.atom) != **allowed)
        .collect();
    assert!(
        wrong.is_empty(),
        "{} answers differ: {wrong:#?}",
        wrong.len()
    );
    let number = allowed.iter().filter(|allowed| **allowed).count();
    assert!(
        (200..800).contains(&number),
        "{number} of {QUESTIONS} are allowed"
    );
}

#[test]
fn flags_of_ten_bundles_are_found_by_asking_the_api_server() {
    let Some(catalog) = find_catalog("community-objects") else {
        return;
    };
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    plane.apply(&[namespace("other")]);
    let permissions = install_rights(&plane, &catalog);
    wait_for_rights(&plane, &permissions);

    // Each account, with its flags of rules without names: a review cannot ask for any name.
    let mut expected: BTreeSet<(String, RightsFlag)> = BTreeSet::new();
    let mut asked: BTreeMap<(String, RightsFlag), Vec<AccessQuestion>> = BTreeMap::new();
    for permission in &permissions {
        let account = &permission.service_account;
        let (own, _) = account.split_once('/').expect("it has a namespace");
        let rules: Vec<_> = permission
            .rules
            .iter()
            .filter(|rule| rule.resource_names.is_empty())
            .cloned()
            .collect();
        for namespace in namespaces_of(permission) {
            let is_own = namespace == Some(own);
            let found = flags(&rules, permission.scope, is_own);
            expected.extend(found.into_iter().map(|flag| (account.clone(), flag)));
            for flag in RightsFlag::ALL {
                if flag == RightsFlag::ReadsSecrets && is_own {
                    continue;
                }
                let questions = asked.entry((account.clone(), flag)).or_default();
                questions.extend(flag.risky_rights().into_iter().map(|atom| AccessQuestion {
                    account: account.clone(),
                    atom: RightAtom {
                        namespace: namespace.map(str::to_owned),
                        ..atom
                    },
                }));
            }
        }
    }
    expected.retain(|(_, flag)| *flag != RightsFlag::Wildcard);
    let questions: Vec<_> = asked.values().flatten().cloned().collect();
    let mut allowed = answers(&plane, &questions).into_iter();
    let mut granted = BTreeSet::new();
    for (key, questions) in &asked {
        let is_allowed = allowed
            .by_ref()
            .take(questions.len())
            .fold(false, |any, one| any | one);
        if is_allowed {
            granted.insert(key.clone());
        }
    }
    assert_eq!(granted, expected);
    let found: BTreeSet<_> = expected.into_iter().map(|(_, flag)| flag).collect();
    assert!(found.len() > 8, "{found:?}");
}

/// Rights of an installer, in the form of those of an operator.
fn permissions_of(account: &str, roles: &[Value]) -> Vec<AccountPermission> {
    let roles = roles.iter().filter(|object| object["rules"].is_array());
    let permissions = roles.map(|role| {
        let namespace = role["metadata"]["namespace"].as_str();
        AccountPermission {
            service_account: account.to_owned(),
            scope: match namespace {
                Some(_) => RightsScope::Namespace,
                None => RightsScope::Cluster,
            },
            namespaces: namespace.map(str::to_owned).into_iter().collect(),
            foreign_role: None,
            rules: serde_json::from_value(role["rules"].clone()).expect("rules are lists"),
            flags: BTreeSet::new(),
        }
    });
    permissions.collect()
}

/// Roles of an installer with their bindings.
fn installer(rendering: &Rendering<'_>, namespace: &str, name: &str) -> Vec<Value> {
    let account = InstallerAccount {
        namespace,
        name,
        extension: "etcd",
    };
    let objects = installer_rbac(&rendering.objects, account).expect("the roles can be read");
    objects.iter().map(RenderedObject::value).collect()
}

#[test]
fn an_installer_may_create_everything_with_its_roles_and_not_with_one_rule_less() {
    let Some(catalog) = find_catalog("community-objects") else {
        return;
    };
    let Some(plane) = ControlPlane::start() else {
        return;
    };
    let bundles = bundles_of_ten(&catalog);
    plane.apply(&["other"].map(namespace));
    plane.apply(&PACKAGES.map(namespace));

    let mut permissions = Vec::new();
    let mut installs = Vec::new();
    let mut add = |package: &str, name: &str, roles: &[Value], objects: &[Value]| {
        plane.apply(roles);
        let account = format!("{package}/{name}");
        permissions.extend(permissions_of(&account, roles));
        installs.push((account, objects.to_vec(), DryRun::default()));
    };
    // One bundle by accounts that lack a rule each, and all by an account with its roles.
    let mut removed = BTreeMap::new();
    for (at, (package, bundle)) in bundles.iter().enumerate() {
        let rendering = rendering(at, package, bundle);
        let mut objects = objects_of(&rendering);
        // An account cannot create what no API server has since Kubernetes 1.22.
        objects.retain(|object| object["apiVersion"] != OLD_DEFINITION);
        let complete = installer(&rendering, package, "installer");
        add(package, "installer", &complete, &objects);
        for (at, role) in complete.iter().enumerate().filter(|_| package == "etcd") {
            for rule in 0..role["rules"].as_array().map_or(0, Vec::len) {
                let name = format!("lacks-{at}-{rule}");
                let mut lacking = installer(&rendering, package, &name);
                let rules = lacking[at]["rules"].as_array_mut().expect("it has rules");
                let resources = rules.remove(rule)["resources"].take();
                removed.insert(format!("{package}/{name}"), resources);
                add(package, &name, &lacking, &objects);
            }
        }
    }
    wait_for_rights(&plane, &permissions);

    // The API server looks at the role of a binding, which no dry run creates.
    let is_binding = |object: &&Value| {
        object["kind"]
            .as_str()
            .expect("it is text")
            .ends_with("RoleBinding")
    };
    for (account, objects, tried) in &mut installs {
        let others: Vec<_> = objects
            .iter()
            .filter(|object| !is_binding(object))
            .cloned()
            .collect();
        tried.add(dry_run(&plane, &others, Some(account)));
    }
    let all = installs.iter().flat_map(|(_, objects, _)| objects);
    let is_role = |object: &&Value| {
        object["kind"]
            .as_str()
            .expect("it is text")
            .ends_with("Role")
    };
    let roles: BTreeMap<_, _> = all
        .filter(is_role)
        .map(|role| (role["metadata"].to_string(), role.clone()))
        .collect();
    let roles: Vec<_> = roles.into_values().collect();
    plane.apply(&roles);
    for (account, objects, tried) in &mut installs {
        let bindings: Vec<_> = objects.iter().filter(is_binding).cloned().collect();
        tried.add(dry_run(&plane, &bindings, Some(account)));
    }

    let mut unneeded = Vec::new();
    for (account, objects, tried) in &installs {
        if let Some(resources) = removed.get(account) {
            unneeded.extend(tried.refusals.is_empty().then_some(resources));
        } else {
            assert_eq!(tried.refusals, BTreeMap::new(), "{account}");
            assert_eq!(tried.accepted, objects.len(), "{account}");
        }
    }
    assert!(removed.len() > 10, "{removed:?}");
    // Only an API server that checks owner references asks for the first one. The operator of etcd
    // may itself do everything with Deployments, which its installer then may too.
    let expected = [
        json!(["clusterextensions/finalizers"]),
        json!(["deployments"]),
        json!(["deployments"]),
    ];
    assert_eq!(unneeded, Vec::from_iter(&expected));
}
