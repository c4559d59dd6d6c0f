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
        "upgrade-plan --catalogs 4.18=@/none --catalogs 4.19=@/good --installed etcd@0.9.4",
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
