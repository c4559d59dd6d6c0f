//! Command lines that users write without reading a page, and what they are told.

use crate::support::{ARGO, ETCD, Folders, catalogql, run};

fn folders() -> Folders {
    let folders = Folders::new();
    folders.catalog("good", ETCD);
    folders.catalog("other", ARGO);
    folders
}

/// Runs a command line; `@` is the folder. Returns what it prints and its exit status.
fn shown(folders: &Folders, line: &str) -> (Option<i32>, String, String) {
    let root = folders.text("");
    let words = line
        .split(' ')
        .map(|word| word.replace("@/", &format!("{}/", root.trim_end_matches('/'))));
    let output = run(catalogql().args(words));
    let [stdout, stderr] = [&output.stdout, &output.stderr].map(|text| folders.shown(text));
    (output.status, stdout, stderr)
}

#[test]
fn options_may_be_anywhere() {
    let folders = folders();
    for lines in [
        [
            "show -o json @/good etcd",
            "show @/good -o json etcd",
            "show @/good etcd -o json",
        ],
        [
            "resolve --channel stable @/good @/other etcd",
            "resolve @/good --channel stable @/other etcd",
            "resolve @/good @/other etcd --channel=stable",
        ],
        [
            "query --operation A @/good query,A{catalogs{name}}",
            "query @/good --operation A query,A{catalogs{name}}",
            "query @/good query,A{catalogs{name}} --operation A",
        ],
    ] {
        let [first, second, third] = lines.each_ref().map(|line| shown(&folders, line));
        assert_eq!(first.2, "", "{lines:?}");
        assert_eq!(first, second, "{lines:?}");
        assert_eq!(first, third, "{lines:?}");
    }
}

#[test]
fn a_document_is_read_from_the_file_that_an_argument_names() {
    let folders = folders();
    folders.write("q.graphql", "{ catalogs { name } }");
    let expected = shown(&folders, "query @/good {catalogs{name}}");
    assert_eq!(expected.0, Some(0));
    assert_eq!(shown(&folders, "query @/good @/q.graphql"), expected);
    assert_eq!(shown(&folders, "query @/good @@/q.graphql"), expected);
    let missing = shown(&folders, "query @/good @/none.graphql");
    let error = "error: cannot read the document `@/none.graphql`: No such file or directory (os error 2)\n";
    assert_eq!(missing, (Some(2), String::new(), error.to_owned()));
}

#[test]
fn words_of_a_list_that_are_no_sources_are_packages() {
    let folders = folders();
    let expected = shown(&folders, "list bundles @/good @/other --package etcd");
    assert_eq!((expected.0, expected.2.as_str()), (Some(0), ""));
    assert_eq!(
        shown(&folders, "list bundles @/good @/other etcd"),
        expected
    );
    assert_eq!(shown(&folders, "list bundle @/good @/other etcd"), expected);
    let missing = shown(&folders, "list bundles @/good ectd");
    let error = "error: package `ectd` not found\nhint: did you mean etcd? `ectd` is no source either: no directory, and no \
                 image\n";
    assert_eq!(missing, (Some(4), String::new(), error.to_owned()));
}

#[test]
fn lists_are_sorted_and_have_the_columns_that_users_name() {
    let folders = folders();
    let line =
        "list bundles @/good --sort-by version -o custom-columns=V:.version,IN:.channelNames[0]";
    let expected = "V      IN\n0.9.0  stable\n0.9.2  stable\n0.9.4  stable\n";
    assert_eq!(
        shown(&folders, line),
        (Some(0), expected.to_owned(), String::new())
    );
}

#[test]
fn a_number_that_is_none_is_called_so_and_a_variable_is_blamed_by_its_name() {
    let folders = folders();
    let good = folders.text("good");
    let error = |arguments: &[&str], variable: Option<(&str, &str)>| {
        let mut command = catalogql();
        command.args(["serve", &good]).args(arguments);
        command.envs(variable);
        let output = run(&mut command);
        assert_eq!(output.status, Some(2));
        output.stderr.lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(
        error(&["--max-depth", "x"], None),
        "error: invalid value 'x' for '--max-depth <COUNT>': write a whole number"
    );
    assert_eq!(
        error(&[], Some(("CATALOGQL_MAX_DEPTH", "x"))),
        "error: invalid value 'x' for 'CATALOGQL_MAX_DEPTH': write a whole number"
    );
    assert_eq!(
        error(&["--max-depth=y"], Some(("CATALOGQL_MAX_DEPTH", "x"))),
        "error: invalid value 'y' for '--max-depth <COUNT>': write a whole number"
    );
    assert_eq!(
        error(&[], Some(("CATALOGQL_POLL", "soon"))),
        "error: invalid value 'soon' for 'CATALOGQL_POLL': write a number with its unit, such as 30s, 10m or 1h"
    );
}

#[test]
fn a_template_is_rendered_as_opm_takes_it() {
    let folders = folders();
    let template = "schema: olm.template.basic\nentries:\n- {schema: olm.package, name: etcd, defaultChannel: stable}\n";
    folders.write("t.yaml", template);
    let expected = shown(&folders, "render-template @/t.yaml -o yaml");
    assert_eq!((expected.0, expected.2.as_str()), (Some(0), ""));
    for line in [
        "render-template basic @/t.yaml -o yaml",
        "render-template basic -o yaml @/t.yaml",
        "render-template --type basic @/t.yaml -o yaml",
    ] {
        assert_eq!(shown(&folders, line), expected, "{line}");
    }
}

#[test]
fn an_edit_of_a_package_that_does_not_exist_names_similar_ones() {
    let folders = folders();
    let error = "error: package `ectd` not found: did you mean etcd?\n";
    assert_eq!(
        shown(&folders, "edit @/good rm ectd"),
        (Some(1), String::new(), error.to_owned())
    );
}

#[test]
fn an_input_that_cannot_be_read_ends_every_command_with_2() {
    let folders = folders();
    folders.write("broken/catalog.yaml", "schema: [\n");
    folders.write("file", "[");
    for line in [
        "validate @/none",
        "validate oci:@/none",
        "list packages @/none",
        "list packages @/broken",
        "show @/broken etcd",
        "search @/none etcd",
        "graph @/none etcd",
        "diff @/good @/none",
        "query @/none {catalogs{name}}",
        "resolve @/none etcd",
        "preview @/none etcd -n etcd",
        "preview @/good etcd -n etcd --deployment-config @/none",
        "solve @/none etcd",
        "solve --request @/none",
        "render @/none",
        "render @/broken",
        "render-template @/none",
        "render-template @/file",
        "convert-template basic @/none",
        "convert-template basic @/file",
        "init etcd --description @/none",
        "migrate @/none @/out",
        "edit @/none rm etcd",
        "push @/none localhost:1/ns/catalog:v1",
        "mirror plan @/none --package etcd",
        "mirror plan @/good --config @/none",
        "mirror catalog @/none --package etcd -o @/out",
        "mirror catalog @/broken --package etcd -o @/out",
        "upgrade-plan --step 4.18=@/none --step 4.19=@/good --installed etcd@0.9.4",
    ] {
        let (status, stdout, stderr) = shown(&folders, line);
        let said = if line.starts_with("validate oci:") {
            stdout
        } else {
            stderr
        };
        assert_eq!(status, Some(2), "{line}: {said}");
        assert!(said.starts_with("error: "), "{line}: {said}");
    }
    // For `validate`, whose question is whether a catalog is valid, this is an answer.
    assert_eq!(shown(&folders, "validate @/broken").0, Some(1));
}

#[test]
fn a_name_that_no_catalog_has_is_no_empty_answer() {
    let folders = folders();
    let similar = "error: package `ectd` not found\nhint: did you mean etcd?\n";
    let channel = "error: package `etcd` has no channel `stabel`\nhint: did you mean stable? its channels are stable\n";
    let from = "error: package `etcd` has no bundle `9.9.9`\nhint: write NAME@VERSION for a bundle that the catalog does not have\n";
    for (line, error) in [
        ("diff @/good @/good -p ectd --exit-code", similar),
        ("mirror plan @/good --package ectd", similar),
        ("mirror catalog @/good --package ectd -o @/out", similar),
        ("mirror plan @/good --package etcd --from 9.9.9", from),
        ("list bundles @/good etcd --channel stabel", channel),
        (
            "upgrade-plan --step 4.18=@/good --step 4.19=@/good --installed etcd@0.9.4:stabel",
            channel,
        ),
    ] {
        let expected = (Some(4), String::new(), error.to_owned());
        assert_eq!(shown(&folders, line), expected, "{line}");
    }
    assert_eq!(
        shown(&folders, "diff @/good @/good -p etcd --exit-code"),
        (Some(0), String::new(), String::new())
    );
    let channel = shown(
        &folders,
        "list bundles @/good etcd --channel stable -o name",
    );
    assert_eq!(channel, shown(&folders, "list bundles @/good etcd -o name"));
}

#[test]
fn an_image_without_its_scheme_is_no_directory_to_write_to() {
    let folders = folders();
    let line = "mirror catalog @/good --package etcd -o quay.io/me/x:v1";
    let error = "error: cannot write to `quay.io/me/x:v1`: write docker://quay.io/me/x:v1 to push an image, or dir:quay.io/me/x:v1 for a directory\n";
    assert_eq!(
        shown(&folders, line),
        (Some(2), String::new(), error.to_owned())
    );
    let directory = shown(
        &folders,
        "mirror catalog @/good --package etcd -o dir:@/part",
    );
    assert_eq!(directory.0, Some(0), "{}", directory.2);
    assert!(folders.path("part").is_dir());
}

#[test]
fn a_template_of_another_type_is_refused() {
    let folders = folders();
    let template = "schema: olm.semver\ngenerateMinorChannels: yes please\n";
    folders.write("t.yaml", template);
    for (line, error) in [
        (
            "render-template basic @/t.yaml",
            "error: cannot render template `@/t.yaml`: its schema is `olm.semver`: leave the type out\n",
        ),
        (
            "render-template semver @/t.yaml",
            "error: rendering template: render: unable to read file: generateMinorChannels must be true or false\n",
        ),
        (
            "convert-template basic @/t.yaml",
            "error: cannot convert `@/t.yaml`: it is a template, of the schema `olm.semver`, and no catalog\n",
        ),
    ] {
        let expected = (Some(2), String::new(), error.to_owned());
        assert_eq!(shown(&folders, line), expected, "{line}");
    }
}

#[test]
fn what_is_installed_is_read_from_objects_of_olm_alone() {
    let folders = folders();
    folders.write("pod.json", r#"{"kind": "Pod"}"#);
    folders.write("empty.json", r#"{"kind": "List", "items": []}"#);
    let (status, stdout, stderr) = shown(&folders, "solve @/good etcd --installed @/pod.json");
    assert_eq!((status, stdout.as_str()), (Some(2), ""));
    assert!(
        stderr.contains("expected ClusterServiceVersions"),
        "{stderr}"
    );
    let (status, _, stderr) = shown(&folders, "solve @/good etcd --installed @/empty.json");
    let hint = "hint: nothing is installed in `@/empty.json`\n";
    assert_eq!((status, stderr.as_str()), (Some(0), hint));

    // OLM does not write properties to operators that were installed before it did.
    let objects = r#"{"kind": "List", "items": [
        {"kind": "ClusterServiceVersion", "metadata": {"name": "etcd.v0.9.0"}, "spec": {"version": "0.9.0"}},
        {"kind": "Subscription", "metadata": {"name": "sub"}, "spec": {"name": "etcd"}, "status": {"installedCSV": "etcd.v0.9.0"}}
    ]}"#;
    folders.write("cluster.json", objects);
    let (status, stdout, _) = shown(
        &folders,
        "solve @/good etcd --installed @/cluster.json --no-headers",
    );
    assert_eq!(status, Some(0));
    assert!(stdout.starts_with("upgrade"), "{stdout}");
}

#[test]
fn a_step_has_several_catalogs() {
    let folders = folders();
    let line = "upgrade-plan --step 4.18=@/good,other=@/other --step 4.19=a=@/good,b=@/other --installed etcd@0.9.4 -o json";
    let (status, stdout, stderr) = shown(&folders, line);
    assert_eq!(status, Some(0), "{stderr}");
    assert!(stdout.contains("4.19"), "{stdout}");
}

#[test]
fn a_file_that_is_no_part_of_a_catalog_is_pointed_out() {
    let folders = folders();
    folders.write("good/README.md", "a: [");
    let (status, _, stderr) = shown(&folders, "validate @/good");
    let hint = "hint: every file of the directory is read: write README.md to .indexignore if it is no part of the catalog\n";
    assert_eq!((status, stderr.as_str()), (Some(1), hint));
}

#[test]
fn a_mistake_is_answered_with_what_to_write_instead() {
    let folders = folders();
    folders.write("catalogs.yaml", "sources: []\n");
    folders.write("empty.json", "\n");
    folders.write("object.json", r#"{"op": "rm"}"#);
    folders.write("member.json", r#"[{"op": "rm", "package": "etcd"}]"#);
    folders.write("null.yaml", "\n");
    folders.write("broken/catalog.yaml", "schema: [\n");
    folders.write("bundle/manifests/csv.yaml", "a: b\n");
    let form = r#"write a JSON array of operations, such as [{"op": "rm", "packages": ["etcd"]}]"#;
    for (line, status, error) in [
        (
            "serve @/catalogs.yaml",
            2,
            "`@/catalogs.yaml` is a file, not a directory with a catalog: write --config `@/catalogs.yaml` if it is a configuration file",
        ),
        (
            "serve @/good --store @/catalogs.yaml",
            1,
            "cannot open the store `@/catalogs.yaml`: it is a file; name a folder with --store",
        ),
        (
            "serve @/good --grpc nocat=127.0.0.1:0 --listen 127.0.0.1:0 --store @/store",
            2,
            "cannot serve `nocat` on the address `127.0.0.1:0` of --grpc: no catalog has this name, those that are served are good",
        ),
        (
            "serve @/good --max-depth 0",
            2,
            "invalid value '0' for '--max-depth <COUNT>': write 1 or more: 0 lets no request pass",
        ),
        (
            "list packages @/good --configs-dir configs",
            2,
            "--configs-dir names a directory in an image, and no source on the command line is an image",
        ),
        (
            "list packages https://quay.io/operatorhubio/catalog:latest",
            2,
            "cannot use `https://quay.io/operatorhubio/catalog:latest` as a source: it looks like an image: write it without `https://`",
        ),
        (
            "diff @/broken @/good",
            2,
            "cannot load the catalog `@/broken`: catalog.yaml:2: error converting YAML to JSON: yaml: did not find expected node content",
        ),
        (
            "diff @/good @/other -o lanes",
            2,
            "invalid value 'lanes' for '--output <FORMAT>': write table, wide, json, yaml, name, jsonpath=TEMPLATE, custom-columns=HEADER:PATH,…, markdown",
        ),
        (
            "edit @/broken rm etcd",
            2,
            "cannot read the catalog `@/broken`: catalog.yaml:2: error converting YAML to JSON: yaml: did not find expected node content",
        ),
        (
            "edit @/none rm etcd",
            2,
            "cannot edit the catalog `@/none`: there is no such directory; `mkdir @/none` creates an empty catalog",
        ),
        (
            "edit @/good add @/bundle=quay.io/me/x:v1",
            2,
            "cannot add `@/bundle=quay.io/me/x:v1`: write the image first: quay.io/me/x:v1=@/bundle",
        ),
        (
            "edit @/good --ops @/empty.json",
            2,
            &format!("cannot read the operations in `@/empty.json`: it is empty: {form}"),
        ),
        (
            "edit @/good --ops @/object.json",
            2,
            &format!(
                "cannot read the operations in `@/object.json`: {form}: invalid type: map, expected a sequence at line 1 column 0"
            ),
        ),
        (
            "edit @/good --ops @/member.json",
            2,
            "cannot read the operations in `@/member.json`: operation 1 (rm): unknown field `package`, expected one of `packages`, `permissive`, `allowEmpty`",
        ),
        (
            "edit @/good promote etcd etcd.v0.9.0 stable",
            1,
            "cannot make bundle etcd.v0.9.0 the head of channel stable: it is already in the channel, below its head etcd.v0.9.4",
        ),
        (
            "edit @/good set-package etcd",
            2,
            "the following required arguments were not provided:",
        ),
        (
            "resolve @/good etcd --installed 0.9.2@etcd.v0.9.2",
            2,
            "`0.9.2@etcd.v0.9.2` has the version before the name",
        ),
        (
            "mirror plan @/good -c @/null.yaml",
            1,
            "line 2: the configuration is empty [CONFIG]",
        ),
        (
            "upgrade-plan --step 4.18=@/good --installed etcd@0.9.4",
            2,
            "cannot plan the upgrade: the plan must have 2 to 10 versions, the present one included, and has 1",
        ),
        (
            "upgrade-plan --step 4.18=@/good --step 4.17=@/good --installed etcd@0.9.4",
            2,
            "cannot plan the upgrade: the step to `4.17` goes backwards from 4.18 to 4.17",
        ),
        (
            "upgrade-plan --step 4.18=@/good --step 4.x=@/good --installed etcd@0.9.4",
            2,
            "cannot plan the upgrade: the version `4.x` is malformed: \"4.x\" is not a version: expected MAJOR.MINOR or MAJOR.MINOR.PATCH, such as 1.31 or 1.31.4",
        ),
        (
            "upgrade-plan --step 4.18=@/good --step 4.19=@/good --installed etcd@0.9.4 --installed etcd@0.9.2",
            2,
            "cannot plan the upgrade: --installed names `etcd` twice",
        ),
        (
            "upgrade-plan --step 4.18=@/good --step 4.19=@/good --installed etcd:stable@0.9.4",
            2,
            "invalid value 'etcd:stable@0.9.4' for '--installed <PACKAGE@VERSION[:CHANNEL]>': write the channel behind the version: etcd@0.9.4:stable",
        ),
        (
            "upgrade-plan --step 4.18=@/good --step 4.19=@/good --installed etcd@0.9.4 --architecture amd65",
            2,
            "invalid value 'amd65' for '--architecture <NAME>': no architecture has this name; did you mean amd64?",
        ),
        (
            "preview @/good etcd -n Etcd_1",
            2,
            "invalid value 'Etcd_1' for '--namespace <NAMESPACE>': no namespace can have this name: write lower-case letters, digits and `-`",
        ),
    ] {
        let (found, stdout, stderr) = shown(&folders, line);
        let mut lines = stderr.lines().filter(|line| !line.starts_with('{'));
        let first = lines.next().unwrap_or_default();
        let expected = (Some(status), "", format!("error: {error}"));
        assert_eq!(
            (found, stdout.as_str(), first.to_owned()),
            expected,
            "{line}"
        );
    }
}

#[test]
fn an_answer_that_is_not_meant_comes_with_a_hint() {
    let folders = folders();
    folders.catalog(
        "stable",
        "package etcd default=stble\n channel stable: v0.9.0",
    );
    folders.write("t.yaml", "schema: olm.template.basic\nentries: []\n");
    folders.write("bundle/manifests/csv.yaml", "a: b\n");
    folders.write("bundle/metadata/annotations.yaml", "a: b\n");
    folders.write(
        "q.graphql",
        "query A { catalogs { name } } query B { packages { totalCount } }",
    );
    for (line, status, text) in [
        (
            "solve @/good --want etcd@0.9.2",
            1,
            "hint: `@0.9.2` names a bundle: write @etcd.v0.9.2, or a range of versions with --policy olm-v1",
        ),
        (
            "solve @/good --want etcd:stabel",
            1,
            "hint: package `etcd` has no channel `stabel`: did you mean stable? its channels are stable",
        ),
        (
            "resolve @/good etcd --installed 0.9.2@etcd.v0.9.2",
            2,
            "hint: write NAME@VERSION: etcd.v0.9.2@0.9.2",
        ),
        (
            "query @/good @/q.graphql",
            1,
            "hint: --operation names one of A, B",
        ),
        (
            "query @/good @/q.graphql --operation C",
            1,
            "hint: --operation names one of A, B",
        ),
        (
            "query @/good {package(catalog:\"example\",name:\"etcd\"){name}}",
            0,
            "hint: the catalogs of this command are called good",
        ),
        (
            "upgrade-plan --step 4.18=@/good --step 4.19=@/good --installed ectd@0.9.4",
            2,
            "hint: package `ectd`: did you mean etcd?",
        ),
        (
            "edit add @/good quay.io/me/x:v1",
            2,
            "  tip: the directory comes before the operation: catalogql edit DIR OPERATION …",
        ),
        (
            "mirror @/good -c @/none",
            2,
            "  tip: `catalogql mirror plan SOURCE -c FILE` prints what is selected, `catalogql mirror run` copies it",
        ),
        (
            "mirror plan @/good --package etcd -o idms --to https://mirror.example.com",
            1,
            "error: `https://mirror.example.com` is not a registry to copy to: expected HOST[:PORT][/PATH] without https://, such as `mirror.example.com/olm`",
        ),
        (
            "render-template @/t.yaml --bundle quay.io/me/x:v1=@/bundle",
            0,
            "warning: the template names no bundle `quay.io/me/x:v1`: its directory is not read",
        ),
        (
            "validate @/bundle",
            1,
            "hint: `@/bundle` looks like a bundle: `catalogql render @/bundle` prints its blob, `catalogql edit CATALOG add IMAGE=@/bundle` adds it to a catalog",
        ),
    ] {
        let (found, _, stderr) = shown(&folders, line);
        assert_eq!(found, Some(status), "{line}: {stderr}");
        assert!(stderr.lines().any(|line| line == text), "{line}: {stderr}");
    }
    let (_, stdout, _) = shown(&folders, "validate @/stable");
    let channel = "channel stble: channel must contain at least one bundle PACKAGE_DEFAULT_CHANNEL_UNKNOWN (did you mean stable?)\n";
    assert!(stdout.contains(channel), "{stdout}");
    let (_, stdout, _) = shown(
        &folders,
        "upgrade-plan --step 4.18=@/good --step 4.19=@/good --installed ectd@0.9.4",
    );
    let order = "\nThis order leaves out what is unknown: ectd\n\n1. ";
    assert!(stdout.contains(order), "{stdout}");
}

#[test]
fn words_of_a_search_need_no_quotes() {
    let folders = folders();
    let quoted = run(catalogql().args(["search", &folders.text("good"), "etcd etcd"]));
    let words = shown(&folders, "search @/good etcd etcd");
    assert_eq!(words, (quoted.status, quoted.stdout, quoted.stderr));
    assert!(words.1.contains("etcd"), "{words:?}");
}

#[test]
fn a_server_without_an_api_server_to_ask_names_the_cause_first() {
    let folders = folders();
    let mut command = catalogql();
    command.args(["serve", &folders.text("good"), "--auth=delegated"]);
    command.args(["--store", &folders.text("store")]);
    let output = run(command.env_remove("KUBECONFIG"));
    let error = output
        .stderr
        .lines()
        .filter(|line| !line.starts_with('{'))
        .collect::<Vec<_>>();
    let expected = [
        "error: cannot ask who may see which catalogs: cannot find a cluster: name a kubeconfig with --kubeconfig or KUBECONFIG, or run in a pod: failed to read an incluster environment variable: environment variable not found",
        "hint: --auth=none lets everybody see each",
    ];
    assert_eq!((output.status, &error[..]), (Some(1), &expected[..]));

    let mut command = catalogql();
    command.args(["controller", "--namespace", "x", "--plain-http"]);
    command.args(["--listen", "127.0.0.1:0", "--store", &folders.text("store")]);
    let output = run(command.env("KUBECONFIG", folders.path("none")));
    let shown = folders.shown(&output.stderr);
    let last = shown.lines().last().unwrap_or_default();
    let expected =
        "error: cannot read the kubeconfig `@/none`: No such file or directory (os error 2)";
    assert_eq!((output.status, last), (Some(1), expected));
}

#[test]
fn the_page_of_a_command_has_the_version_of_the_program() {
    let version = env!("CARGO_PKG_VERSION");
    for name in ["serve", "edit-add"] {
        let page = run(catalogql().args(["man", name])).stdout;
        let title = format!(".TH catalogql-{name} 1  \"catalogql {version}");
        assert!(page.contains(&title), "{page}");
    }
}
