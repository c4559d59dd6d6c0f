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
