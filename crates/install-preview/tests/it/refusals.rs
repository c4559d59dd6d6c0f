//! Bundles that are refused, each for its reason, and limits.

use std::fmt::Write as _;

use install_preview::PreviewErrorCode::{self, *};
use install_preview::bundle::{
    MAX_BUNDLE_DEPLOYMENTS, MAX_BUNDLE_FILE_BYTES, MAX_BUNDLE_FILES, MAX_BUNDLE_OBJECTS,
    MAX_BUNDLE_RULES,
};
use install_preview::render::MAX_REPEATED_BYTES;
use install_preview::summary::{InstallSummary, MAX_BUNDLE_SUBJECTS, MAX_SUBJECT_RULE_BYTES};
use install_preview::{BundleManifestFile, PreviewError, RegistryBundle, RenderOptions, render};

/// Spec of a CSV that can be installed.
const MODES: &str = "installModes: [{type: AllNamespaces, supported: true}]";

fn read(files: &[&str]) -> Result<RegistryBundle, PreviewError> {
    let files: Vec<_> = files
        .iter()
        .enumerate()
        .map(|(at, text)| BundleManifestFile {
            name: format!("{at}.yaml").into(),
            bytes: text.as_bytes().into(),
        })
        .collect();
    RegistryBundle::read("etcd", &files)
}

fn csv(spec: &str) -> String {
    format!("kind: ClusterServiceVersion\nmetadata: {{name: etcd.v1}}\nspec: {{{spec}}}\n")
}

/// Codes of the reasons against a bundle, in their order.
fn codes(files: &[&str]) -> Vec<PreviewErrorCode> {
    let options = RenderOptions {
        install_namespace: "own".to_owned(),
        ..RenderOptions::default()
    };
    let errors = match read(files) {
        Err(error) => vec![error],
        Ok(bundle) => render(&bundle, &options).err().unwrap_or_default(),
    };
    errors.into_iter().map(|error| error.code).collect()
}

#[test]
fn every_violation_of_a_bundle_is_told() {
    let deployments = "install: {spec: {deployments: [{name: a, spec: {}}]}}";
    for (spec, expected) in [
        ("", &[][..]),
        (
            "install: {spec: {deployments: [{name: a, spec: {}}, {name: a, spec: {}}, {name: A_b, spec: {}}]}}",
            &[DuplicateDeployment, InvalidDeploymentName],
        ),
        (
            "customresourcedefinitions: {owned: [{name: as.example.com}]}",
            &[MissingDefinition],
        ),
        (
            "webhookdefinitions: [{type: ValidatingAdmissionWebhook, generateName: a.b, deploymentName: none}]",
            &[MissingWebhookDeployment],
        ),
        (
            &format!(
                "{deployments}, webhookdefinitions: [{{type: MutatingAdmissionWebhook, generateName: A, deploymentName: a}}, {{type: MutatingAdmissionWebhook, generateName: A, deploymentName: a}}]"
            ),
            &[DuplicateWebhook, InvalidWebhookName],
        ),
        (
            &format!(
                "{deployments}, webhookdefinitions: [{{type: ConversionWebhook, generateName: a, deploymentName: a, conversionCRDs: [x]}}, {{type: ConversionWebhook, generateName: b, deploymentName: a, conversionCRDs: [x]}}]"
            ),
            &[SharedConversion, ForeignConversion, ForeignConversion],
        ),
        (
            &format!(
                "{deployments}, webhookdefinitions: [{{type: ValidatingAdmissionWebhook, generateName: a, deploymentName: a, rules: [{{apiGroups: ['*', olm.operatorframework.io]}}, {{apiGroups: [admissionregistration.k8s.io], resources: [ValidatingWebhookConfigurations, other]}}]}}]"
            ),
            &[
                ForbiddenWebhookRule,
                ForbiddenWebhookRule,
                ForbiddenWebhookRule,
            ],
        ),
    ] {
        assert_eq!(
            codes(&[&csv(&format!("{MODES}, {spec}"))]),
            expected,
            "{spec}"
        );
    }
}

#[test]
fn install_modes_decide_on_conversions_and_on_namespaces() {
    let conversion = "webhookdefinitions: [{type: ConversionWebhook, generateName: a, deploymentName: a}], install: {spec: {deployments: [{name: a, spec: {}}]}}";
    let single = "installModes: [{type: SingleNamespace, supported: true}]";
    assert_eq!(
        codes(&[&csv(&format!("{single}, {conversion}"))]),
        [ConversionInstallModes]
    );
    assert_eq!(codes(&[&csv(single)]), [InvalidTargetNamespaces]);
}

#[test]
fn a_definition_that_is_converted_may_not_preserve_unknown_fields() {
    let definition = "kind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {preserveUnknownFields: true}\n";
    let spec = format!(
        "{MODES}, customresourcedefinitions: {{owned: [{{name: x}}]}}, install: {{spec: {{deployments: [{{name: a, spec: {{}}}}]}}}}, webhookdefinitions: [{{type: ConversionWebhook, generateName: a, deploymentName: a, conversionCRDs: [x]}}]"
    );
    let csv = csv(&spec);
    assert_eq!(codes(&[&csv, definition]), [PreservesUnknownFields]);
    assert_eq!(
        codes(&[&csv, definition, definition]),
        [DuplicateDefinition]
    );
}

#[test]
fn manifests_are_documents_and_lists_of_objects_with_kinds() {
    let good = csv(MODES);
    for (other, expected) in [
        ("", &[][..]),
        ("---\n---\n", &[]),
        ("kind: Secret\n---\nkind: ConfigMap\n", &[]),
        ("{\"kind\": \"Secret\"} {\"kind\": \"ConfigMap\"}", &[]),
        ("kind: List\nitems: [{kind: Secret}, {kind: Role}]", &[]),
        ("kind: SecretList\nitems: [{data: {}}]", &[]),
        ("kind: List\nitems: [{kind: Pod}]", &[UnsupportedKind]),
        (
            "kind: Pod\n---\nkind: Job\n",
            &[UnsupportedKind, UnsupportedKind],
        ),
        ("metadata: {}", &[UnreadableManifest]),
        ("- kind: Secret", &[UnreadableManifest]),
        ("{", &[UnreadableManifest]),
        (
            "kind: CustomResourceDefinition\nspec: {versions: {}}",
            &[UnreadableManifest],
        ),
    ] {
        assert_eq!(codes(&[&good, other]), expected, "{other}");
    }
    assert_eq!(codes(&["kind: Secret"]), [NoClusterServiceVersion]);
    assert_eq!(codes(&[]), [NoClusterServiceVersion]);
}

#[test]
fn a_bundle_without_a_package_is_refused() {
    let csv = csv(MODES);
    let files = [BundleManifestFile {
        name: "csv.yaml".into(),
        bytes: csv.as_bytes().into(),
    }];
    let bundle = RegistryBundle::read("", &files).unwrap();
    let errors = render(&bundle, &RenderOptions::default()).unwrap_err();
    assert_eq!(
        errors,
        [PreviewError::new(NoPackageName, "package name is empty")]
    );
}

#[test]
fn properties_of_the_metadata_are_appended_to_those_of_the_csv() {
    let csv = "kind: ClusterServiceVersion\nmetadata: {name: a, annotations: {olm.properties: '[{\"type\": \"x\", \"value\": {\"b\": 1, \"a\": \"<\"}}]'}}\nspec: {installModes: [{type: AllNamespaces, supported: true}], install: {spec: {deployments: [{name: a, spec: {}}]}}}";
    let mut bundle = read(&[csv]).unwrap();
    bundle
        .add_properties(b"properties:\n- type: z\n  value: [2]\n")
        .unwrap();
    let rendering = render(&bundle, &RenderOptions::default()).unwrap();
    let pod = &rendering.objects[0].value()["spec"]["template"];
    assert_eq!(
        pod["metadata"]["annotations"]["olm.properties"],
        r#"[{"type":"x","value":{"b":1,"a":"\u003c"}},{"type":"z","value":[2]}]"#
    );
    assert_eq!(
        bundle.add_properties(b"properties: 1").unwrap_err().code,
        UnreadableMetadata
    );
}

#[test]
fn a_bundle_is_read_up_to_its_limits_and_refused_beyond_them() {
    let rules = |count: usize| {
        let mut text =
            String::from("install: {spec: {permissions: [{serviceAccountName: a, rules: [");
        for _ in 0..count {
            text.push_str("{verbs: [get]},");
        }
        write!(text, "]}}]}}}}, {MODES}").unwrap();
        // YAML holds fewer indicators than that.
        csv(&text)
    };
    let json = |count: usize| {
        let list = vec!["{\"verbs\":[\"get\"]}"; count].join(",");
        format!(
            "{{\"kind\":\"ClusterServiceVersion\",\"spec\":{{\"installModes\":[{{\"type\":\"AllNamespaces\",\"supported\":true}}],\"install\":{{\"spec\":{{\"permissions\":[{{\"rules\":[{list}]}}]}}}}}}}}"
        )
    };
    assert_eq!(codes(&[&rules(3)]), []);
    assert_eq!(codes(&[&json(MAX_BUNDLE_RULES)]), []);
    assert_eq!(codes(&[&json(MAX_BUNDLE_RULES + 1)]), [TooLarge]);

    let good = csv(MODES);
    let secrets = |count: usize| "kind: Secret\n---\n".repeat(count);
    assert_eq!(codes(&[&good, &secrets(MAX_BUNDLE_OBJECTS - 1)]), []);
    assert_eq!(codes(&[&good, &secrets(MAX_BUNDLE_OBJECTS)]), [TooLarge]);

    let mut files = vec![""; MAX_BUNDLE_FILES];
    files[0] = &good;
    assert_eq!(codes(&files), []);
    files.push("");
    assert_eq!(codes(&files), [TooLarge]);

    let large = |length: usize| format!("{{\"kind\":\"Secret\",\"a\":\"{}\"}}", "x".repeat(length));
    let longest = large(MAX_BUNDLE_FILE_BYTES - 100);
    assert_eq!(codes(&[&good, &longest]), []);
    assert_eq!(codes(&[&good, &large(MAX_BUNDLE_FILE_BYTES)]), [TooLarge]);
    let mut all = vec![&*longest; 8];
    all.push(&good);
    assert_eq!(codes(&all), []);
    all.extend([&*longest; 1]);
    assert_eq!(codes(&all), [TooLarge]);
}

#[test]
fn aliases_of_yaml_are_resolved_only_up_to_the_size_of_a_manifest() {
    let mut text = String::from("kind: Secret\na0: &a0 [xxxxxxxxxxxxxxxx]\n");
    for at in 1..40 {
        let before = at - 1;
        writeln!(text, "a{at}: &a{at} [*a{before}, *a{before}, *a{before}]").unwrap();
    }
    assert_eq!(codes(&[&csv(MODES), &text]), [UnreadableManifest]);
}

/// A CSV, as JSON, with this install strategy and these annotations.
fn json_csv(annotations: &str, strategy: &str) -> String {
    format!(
        "{{\"kind\":\"ClusterServiceVersion\",\"metadata\":{{\"name\":\"a.v1\",\"annotations\":{annotations}}},\"spec\":{{\"installModes\":[{{\"type\":\"AllNamespaces\",\"supported\":true}}],\"install\":{{\"spec\":{strategy}}}}}}}"
    )
}

fn deployments(count: usize) -> String {
    let deployments: Vec<_> = (0..count)
        .map(|at| format!("{{\"name\":\"d{at}\"}}"))
        .collect();
    format!("{{\"deployments\":[{}]}}", deployments.join(","))
}

#[test]
fn what_an_install_repeats_is_bounded() {
    let most = MAX_BUNDLE_DEPLOYMENTS;
    assert_eq!(codes(&[&json_csv("{}", &deployments(most))]), []);
    assert_eq!(
        codes(&[&json_csv("{}", &deployments(most + 1))]),
        [TooLarge]
    );

    // Annotations of the CSV are in each deployment.
    let annotations = |bytes: usize| format!("{{\"a\":\"{}\"}}", "x".repeat(bytes));
    let share = MAX_REPEATED_BYTES / 100;
    let csv = |bytes: usize| json_csv(&annotations(bytes), &deployments(100));
    assert_eq!(codes(&[&csv(share - 1)]), []);
    assert_eq!(codes(&[&csv(share)]), [TooLarge]);

    // Permissions are in each watched namespace.
    let permissions = format!(
        "{{\"permissions\":[{{\"serviceAccountName\":\"{}\"}}]}}",
        "x".repeat(1 << 20)
    );
    let csv = json_csv("{}", &permissions).replace(
        "[{\"type\":\"AllNamespaces\",\"supported\":true}]",
        "[{\"type\":\"MultiNamespace\",\"supported\":true}]",
    );
    let bundle = read(&[&csv]).unwrap();
    let errors = |namespaces: usize| {
        let options = RenderOptions {
            install_namespace: "own".to_owned(),
            watch_namespaces: (0..namespaces).map(|at| format!("n{at}")).collect(),
            ..RenderOptions::default()
        };
        let errors = render(&bundle, &options).err().unwrap_or_default();
        errors
            .into_iter()
            .map(|error| error.code)
            .collect::<Vec<_>>()
    };
    let most = MAX_REPEATED_BYTES / (1 << 20);
    assert_eq!(errors(most - 1), []);
    assert_eq!(errors(most), [TooLarge]);
}

#[test]
fn fields_that_the_controller_adds_are_bounded() {
    // Each empty deployment gets a spec, a selector, a strategy and a template.
    let empty = |count: usize| {
        let list = vec!["{}"; count].join(",");
        json_csv("{}", &format!("{{\"deployments\":[{list}]}}"))
    };
    assert_eq!(codes(&[&empty(MAX_BUNDLE_FILE_BYTES / 4)]), [TooLarge]);
}

#[test]
fn subjects_and_their_rules_are_bounded() {
    let binding = |count: usize, rules: &str| {
        let subject = "{\"kind\":\"ServiceAccount\",\"name\":\"a\",\"namespace\":\"own\"}";
        let subjects = vec![subject; count].join(",");
        [
            format!(
                "{{\"kind\":\"ClusterRole\",\"metadata\":{{\"name\":\"r\"}},\"rules\":{rules}}}"
            ),
            format!(
                "{{\"kind\":\"ClusterRoleBinding\",\"metadata\":{{\"name\":\"b\"}},\"roleRef\":{{\"kind\":\"ClusterRole\",\"name\":\"r\"}},\"subjects\":[{subjects}]}}"
            ),
        ]
    };
    let good = csv(MODES);
    let is_bounded = |[role, binding]: &[String; 2]| {
        let bundle = read(&[&good, role, binding]).unwrap();
        let rendering = render(&bundle, &RenderOptions::default()).unwrap();
        InstallSummary::of(&rendering, "own").is_ok()
    };
    assert!(is_bounded(&binding(MAX_BUNDLE_SUBJECTS, "[]")));
    assert!(!is_bounded(&binding(MAX_BUNDLE_SUBJECTS + 1, "[]")));
    let long = format!(
        "[{{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"{}\"]}}]",
        "x".repeat(1 << 20)
    );
    let most = MAX_SUBJECT_RULE_BYTES / (1 << 20);
    assert!(is_bounded(&binding(most - 1, &long)));
    assert!(!is_bounded(&binding(most, &long)));
}

#[test]
fn a_long_name_does_not_multiply_in_messages() {
    let long = "x".repeat(1 << 20);
    let rules = format!("[{{apiGroups: [{}]}}]", vec!["'*'"; 5_000].join(", "));
    let crds = vec!["x"; 5_000].join(", ");
    let spec = format!(
        "{MODES}, install: {{spec: {{deployments: [{{name: a, spec: {{}}}}]}}}}, webhookdefinitions: [{{type: ValidatingAdmissionWebhook, generateName: {long}, deploymentName: a, rules: {rules}}}, {{type: ConversionWebhook, generateName: {long}, deploymentName: a, conversionCRDs: [{crds}]}}]"
    );
    let bundle = read(&[&csv(&spec)]).unwrap();
    let errors = render(&bundle, &RenderOptions::default()).unwrap_err();
    let bytes: usize = errors.iter().map(|error| error.message.len()).sum();
    assert!(bytes < 8 << 20, "{bytes}");
    let count = |code| errors.iter().filter(|error| error.code == code).count();
    assert_eq!(count(ForbiddenWebhookRule), 1_000);
    assert_eq!(count(ForeignConversion), 1_000);
}
