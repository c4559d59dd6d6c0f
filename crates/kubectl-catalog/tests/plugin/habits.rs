//! What users of kubectl write without reading a page.

use serving::{FailureReason, LoadFailure};

use crate::support::{Server, example};

/// Runs the plugin and returns its exit status and its standard error output.
fn refused(server: &Server, line: &str) -> (Option<i32>, String) {
    let output = server.run(&line.split(' ').collect::<Vec<_>>());
    assert_eq!(output.stdout, "", "{line}");
    (output.status, output.stderr)
}

#[track_caller]
fn prints(server: &Server, line: &str, stdout: &str) {
    server.ends(&line.split(' ').collect::<Vec<_>>(), 0, stdout, "");
}

#[test]
fn a_kind_is_written_in_the_singular_or_the_plural_and_in_any_case() {
    let server = example();
    for kind in ["package", "packages", "Package", "PACKAGES"] {
        let line = format!("get {kind} quillstore -o name");
        prints(&server, &line, "package/example/quillstore\n");
    }
}

#[test]
fn objects_are_named_as_they_are_printed() {
    let server = example();
    for name in ["quillstore", "example/quillstore"] {
        let line = format!("get package {name} -o name");
        prints(&server, &line, "package/example/quillstore\n");
    }
    let bundle = "bundle/example/quillstore/quillstore.v1.4.0\n";
    for name in [
        "quillstore.v1.4.0",
        "quillstore/quillstore.v1.4.0",
        "example/quillstore/quillstore.v1.4.0",
    ] {
        prints(&server, &format!("get bundle {name} -o name"), bundle);
    }
    let described = server.run(&["describe", "package", "quillstore"]);
    for object in [
        "quillstore",
        "package/example/quillstore",
        "example/quillstore",
    ] {
        assert_eq!(server.run(&["describe", object]), described, "{object}");
    }
    let described = server.run(&["describe", "bundle", "quillstore.v1.4.0"]);
    for object in ["quillstore.v1.4.0", bundle.trim_end()] {
        assert_eq!(server.run(&["describe", object]), described, "{object}");
    }
}

#[test]
fn get_ends_with_1_for_an_object_that_does_not_exist_and_says_what_may_be_meant() {
    let server = example();
    let refusal = |line: &str| {
        let (status, stderr) = refused(&server, line);
        assert_eq!(status, Some(1), "{line}: {stderr}");
        stderr
    };
    assert_eq!(
        refusal("get packages quilstore"),
        "error: package `quilstore` not found\nhint: did you mean quillstore?\n"
    );
    assert_eq!(
        refusal("get channels stabel"),
        "error: channel `stabel` not found\nhint: did you mean stable?\n"
    );
    assert_eq!(
        refusal("get bundles quillstore.v1.4.1"),
        "error: bundle `quillstore.v1.4.1` not found\nhint: did you mean quillstore.v1.2.1 or quillstore.v1.4.0 or quillstore.v1.0.0?\n"
    );
    assert_eq!(
        refusal("get bundles quillstore"),
        "error: bundle `quillstore` not found\nhint: `quillstore` is a package: `kubectl catalog versions quillstore` lists its bundles\n"
    );
    assert_eq!(
        refusal("get catalogs exampel"),
        "error: no catalog `exampel` is served\nhint: did you mean example? the served catalogs are example\n"
    );
    // Those that exist are printed.
    let some = server.run(&["get", "packages", "quillstore", "nothing", "-o", "name"]);
    assert_eq!(
        (some.status, some.stdout.as_str(), some.stderr.as_str()),
        (
            Some(1),
            "package/example/quillstore\n",
            "error: package `nothing` not found\n"
        )
    );
    // A catalog that is not served is another failure, as for every command.
    let (status, stderr) = refused(&server, "get packages quillstore --catalog nope");
    assert_eq!(status, Some(4), "{stderr}");
}

#[test]
fn what_describe_cannot_describe_is_said() {
    let server = example();
    let missing = refused(&server, "describe quilstore");
    let expected = "error: package `quilstore` not found\nhint: did you mean quillstore?\n";
    assert_eq!(missing, (Some(4), expected.to_owned()));
    let kind = refused(&server, "describe package");
    let expected = "error: `package` is a kind: name the object too\nhint: `kubectl catalog describe package NAME`\n";
    assert_eq!(kind, (Some(2), expected.to_owned()));
    let other = refused(&server, "describe channel stable");
    let expected = "error: cannot describe `channel`: write package or bundle\nhint: `kubectl catalog get channel -o yaml` prints all of them\n";
    assert_eq!(other, (Some(2), expected.to_owned()));
}

#[test]
fn lists_are_sorted_by_a_column_or_by_a_field() {
    let server = example();
    let sorted = |key: &str| {
        let columns = "custom-columns=NAME:.name";
        let output = server.run(&[
            "get",
            "packages",
            "--no-headers",
            "--sort-by",
            key,
            "-o",
            columns,
        ]);
        assert_eq!((output.status, output.stderr.as_str()), (Some(0), ""));
        output
            .stdout
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        sorted("version"),
        [
            "lampglow",
            "nightjar",
            "quillstore",
            "sealwright",
            "relaybox"
        ]
    );
    assert_eq!(sorted("{.latest.version}"), sorted("VERSION"));
    // The limit counts after the order.
    let first = server.run(&[
        "get",
        "packages",
        "--sort-by",
        ".metadata.createdAt",
        "--limit",
        "1",
        "-o",
        "name",
    ]);
    assert_eq!(
        first.stderr,
        "these are the first 1: --limit 0 prints all\n"
    );
    let none = refused(&server, "get packages --sort-by nothing");
    let expected = "error: cannot sort by `nothing`: it is no column, and no object has this field\nhint: the columns are \
                    NAME, DISPLAY-NAME, CATALOG, CHANNEL, VERSION, DEPRECATED, PROVIDER, LEVEL, CATEGORIES, CREATED\n";
    assert_eq!(none, (Some(2), expected.to_owned()));
}

#[test]
fn tables_have_the_columns_that_users_name() {
    let server = example();
    let columns = "custom-columns=PACKAGE:.name,HEAD:.latest.name,WHY:{.deprecation.message}";
    let table = "\
PACKAGE     HEAD               WHY
quillstore  quillstore.v1.4.0  <none>
";
    prints(
        &server,
        &format!("get package quillstore -o {columns}"),
        table,
    );
    let row = "quillstore  quillstore.v1.4.0  <none>\n";
    prints(
        &server,
        &format!("get package quillstore --no-headers -o {columns}"),
        row,
    );
    let (status, stderr) = refused(&server, "get packages -o custom-columns=NAME");
    assert!(
        status == Some(2) && stderr.contains("write HEADER:PATH for each column"),
        "{stderr}"
    );
}

#[test]
fn flags_and_commands_of_kubectl_are_known() {
    let server = example();
    let all = server.run(&["get", "packages"]);
    for flag in ["-A", "--all-catalogs", "--all-namespaces"] {
        assert_eq!(server.run(&["get", "packages", flag]), all, "{flag}");
    }
    let (status, stderr) = refused(&server, "get packages -A --catalog example");
    assert!(
        status == Some(2) && stderr.contains("cannot be used with"),
        "{stderr}"
    );
    assert_eq!(server.run(&["help", "get"]), server.run(&["get", "--help"]));
    assert_eq!(
        server.run(&["completions", "bash"]),
        server.run(&["completion", "bash"])
    );
    let page = server.run(&["man", "get"]).stdout;
    assert!(page.contains(".TH kubectl-catalog-get 1"), "{page}");
    let page = server.run(&["man", "nothing"]);
    assert_eq!(
        (page.status, page.stderr.as_str()),
        (
            Some(2),
            "error: cannot print a manual page: there is no command `nothing`\n"
        )
    );
}

#[test]
fn a_document_is_read_from_the_file_that_an_argument_names() {
    let server = example();
    server.folders.write("q.graphql", "{ catalogs { name } }");
    let path = server.folders.text("q.graphql");
    let answer = server.run(&["query", "{ catalogs { name } }"]);
    assert_eq!(answer.status, Some(0));
    for argument in [path.clone(), format!("@{path}")] {
        assert_eq!(server.run(&["query", &argument]), answer, "{argument}");
    }
}

#[test]
fn a_bundle_is_named_by_its_name_its_version_or_both() {
    let server = example();
    for (command, flag) in [("successors", None), ("resolve", Some("--installed"))] {
        let run = |bundle: &str| {
            let words = [Some(command), Some("quillstore"), flag, Some(bundle)];
            server.run(&words.into_iter().flatten().collect::<Vec<_>>())
        };
        let both = run("quillstore.v1.1.0@1.1.0");
        assert_eq!(run("quillstore.v1.1.0"), both, "{command}");
        assert_eq!(run("1.1.0"), both, "{command}");
    }
    let missing = refused(&server, "successors quillstore 1.1.9");
    assert_eq!(missing.0, Some(4), "{}", missing.1);
}

#[test]
fn an_api_is_found_by_its_kind_alone() {
    let server = example();
    let full = server.run(&["providers", "quillstore.example.com/Database"]);
    assert_eq!(full.status, Some(0));
    for api in ["Database", "database", "Database.quillstore.example.com"] {
        assert_eq!(server.run(&["providers", api]), full, "{api}");
    }
    let (status, stderr) = refused(&server, "providers Nothing");
    let expected = "error: no package provides an API of kind `Nothing`\n";
    assert_eq!((status, stderr.as_str()), (Some(4), expected));
}

#[test]
fn solve_takes_packages_as_arguments() {
    let server = example();
    let wanted = server.run(&["solve", "--want", "nightjar"]);
    assert_eq!(
        (wanted.status, server.run(&["solve", "nightjar"])),
        (Some(0), wanted)
    );
}

#[test]
fn catalogs_that_could_not_be_loaded_are_listed_with_their_reasons() {
    let server = example();
    let failure = |reason, message: &str| LoadFailure {
        at: jiff::Timestamp::UNIX_EPOCH,
        reason,
        message: message.to_owned(),
        attempts: 3,
    };
    server.fail_to_load(
        "example",
        failure(FailureReason::InvalidCatalog, "a.yaml:1: bad"),
    );
    server.fail_to_load("other", failure(FailureReason::Unauthorized, "no login"));
    let columns = "custom-columns=NAME:.name,REASON:.status.lastFailure.reason";
    let listed = "NAME     REASON\nexample  INVALID_CATALOG\nother    UNAUTHORIZED\n";
    prints(&server, &format!("get catalogs -o {columns}"), listed);
    prints(&server, "get catalog other -o name", "catalog/other\n");
    let problems = "\
SEVERITY  CODE             PACKAGE  MESSAGE        CATALOG
ERROR     INVALID_CATALOG  <none>   a.yaml:1: bad  example
ERROR     UNAUTHORIZED     <none>   no login       other
";
    prints(&server, "get problems", problems);
}

#[test]
fn bundles_of_a_path_are_named_in_each_form_and_similar_ones_are_suggested() {
    let server = example();
    let path = server.run(&["path", "quillstore", "1.0.0"]);
    for from in ["quillstore.v1.0.0", "quillstore.v1.0.0@1.0.0", "v1.0.0"] {
        assert_eq!(server.run(&["path", "quillstore", from]), path, "{from}");
    }
    let list = "`kubectl catalog versions example/quillstore` lists its bundles";
    let partial = refused(&server, "path quillstore 1.0");
    let expected = format!(
        "error: package `quillstore` has no bundle `1.0`\nhint: did you mean 1.0.0? {list}\n"
    );
    assert_eq!(partial, (Some(4), expected));
    let swapped = refused(&server, "path 1.0.0 quillstore");
    let expected = "error: package `1.0.0` not found\nhint: the order is PACKAGE FROM [TO]\n";
    assert_eq!(swapped, (Some(4), expected.to_owned()));
}

#[test]
fn an_api_has_no_version_and_a_filter_names_values_that_there_are() {
    let server = example();
    let (status, stderr) = refused(&server, "providers quillstore.example.com/v1beta1/Database");
    assert_eq!(status, Some(2));
    assert!(
        stderr.ends_with(
            "write GROUP/KIND without the version, such as quillstore.example.com/Database\n"
        ),
        "{stderr}"
    );
    let none = refused(&server, "search --category database");
    let expected =
        "hint: no package has the category `database`: did you mean Database?\nnothing found\n";
    assert_eq!(none, (Some(0), expected.to_owned()));
}

#[test]
fn an_api_server_that_does_not_answer_is_not_taken_for_the_server() {
    let server = example();
    let kubeconfig = server.folders.path("kubeconfig");
    let context = "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: a, user: {}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n";
    server.folders.write("kubeconfig", context);
    let kubeconfig = kubeconfig.to_str().expect("it is UTF-8");
    for command in [
        "outdated",
        "migration",
        "mirror --from-cluster",
        "upgrade-plan --to 1.34",
    ] {
        let (status, stderr) = refused(&server, &format!("{command} --kubeconfig {kubeconfig}"));
        assert_eq!(status, Some(3), "{command}: {stderr}");
        assert!(
            stderr.contains("`kubectl cluster-info` tells whether this API server answers"),
            "{command}: {stderr}"
        );
    }
    let missing = refused(&server, "outdated --kubeconfig /nowhere/config");
    assert!(
        missing
            .1
            .contains("hint: --kubeconfig FILE or the variable KUBECONFIG"),
        "{missing:?}"
    );
}

#[test]
fn a_typo_is_answered_with_the_name_that_may_be_meant() {
    let server = example();
    let similar = "error: package `quillstor` not found\nhint: did you mean quillstore?\n";
    let catalog = "error: no catalog `exmple` is served\nhint: did you mean example? the served catalogs are example\n";
    for (line, status, error) in [
        ("open quillstor", 4, similar),
        ("open example/quillstor", 4, similar),
        ("open exmple/quillstore", 4, catalog),
        ("diff exmple example", 4, catalog),
        ("diff example exmple", 4, catalog),
        (
            "resolve quillstore --installed 1.0.0@quillstore.v1.0.0",
            2,
            "error: `1.0.0@quillstore.v1.0.0` has the version before the name\nhint: write NAME@VERSION: quillstore.v1.0.0@1.0.0\n",
        ),
        (
            "diff example example -o lanes",
            2,
            "error: invalid value 'lanes' for '--output <FORMAT>': write table, wide, json, yaml, name, jsonpath=TEMPLATE, custom-columns=HEADER:PATH,…, markdown\n\nFor more information, try '--help'.\n",
        ),
    ] {
        let expected = (Some(status), error.to_owned());
        assert_eq!(refused(&server, line), expected, "{line}");
    }
    let url = format!("http://{}/?package=quillstore\n", server.address);
    prints(&server, "open quillstore", &url);
}

#[test]
fn a_server_of_trusted_documents_is_told_which_they_are() {
    let server = example();
    let body = r#"{"errors":[{"message":"the server executes only trusted documents","extensions":{"code":"QUERY_NOT_IN_SAFELIST"}}]}"#;
    server.refuse_next(400, &[("content-type", "application/json")], body);
    let (status, stderr) = refused(&server, "get packages");
    let hint = "hint: `kubectl catalog documents` prints the documents of this program, which the server trusts with --documents FILE\n";
    assert_eq!(status, Some(6), "{stderr}");
    assert!(stderr.ends_with(hint), "{stderr}");
}

#[test]
fn the_operations_of_a_document_are_named_where_one_must_be() {
    let server = example();
    let output = server.run(&["query", "query A { __typename } query B { __typename }"]);
    assert_eq!(output.status, Some(6), "{output:?}");
    let hint = "hint: --operation names one of A, B\n";
    assert!(output.stderr.ends_with(hint), "{output:?}");
}
