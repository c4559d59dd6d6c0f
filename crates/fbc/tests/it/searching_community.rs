//! Searches over a real catalog: which packages come first.

use fbc::work::Work;
use fbc::{Catalog, PackageFilter};
use testing::corpus;

/// What people look for, and the first three packages that they see.
const SEARCHES: [(&str, &[&str]); 40] = [
    (
        "cert-manager",
        &["cert-manager", "mariadb-operator", "patch-operator"],
    ),
    ("certmanager", &["cert-manager", "mariadb-operator"]),
    (
        "cert manager operator",
        &["cert-manager", "patch-operator", "slurm-operator"],
    ),
    (
        "logging",
        &[
            "logging-operator",
            "loki-operator",
            "opentelemetry-operator",
        ],
    ),
    (
        "keycloak",
        &[
            "keycloak-operator",
            "edp-keycloak-operator",
            "keycloak-permissions-operator",
        ],
    ),
    (
        "redis",
        &[
            "redis-operator",
            "redkey-operator",
            "libredb-studio-operator",
        ],
    ),
    (
        "kafka",
        &["strimzi-kafka-operator", "ack-kafka-controller", "yaks"],
    ),
    (
        "postgres",
        &[
            "percona-postgresql-operator",
            "stackgres-community",
            "alloydb-omni-operator",
        ],
    ),
    (
        "postgress",
        &[
            "percona-postgresql-operator",
            "stackgres-community",
            "alloydb-omni-operator",
        ],
    ),
    (
        "grafana",
        &[
            "grafana-operator",
            "prometheus-exporter-operator",
            "loki-operator",
        ],
    ),
    (
        "grafna",
        &[
            "grafana-operator",
            "prometheus-exporter-operator",
            "loki-operator",
        ],
    ),
    (
        "argo cd",
        &["argocd-operator", "kairos-operator", "dotvirt-operator"],
    ),
    (
        "argocd",
        &["argocd-operator", "kairos-operator", "dotvirt-operator"],
    ),
    (
        "prometheus",
        &[
            "prometheus",
            "prometheus-exporter-operator",
            "ack-prometheusservice-controller",
        ],
    ),
    (
        "mongodb",
        &[
            "mongodb-operator",
            "mongodb-atlas-kubernetes",
            "percona-server-mongodb-operator",
        ],
    ),
    (
        "mysql",
        &[
            "percona-server-mysql-operator",
            "percona-xtradb-cluster-operator",
            "ndb-operator",
        ],
    ),
    (
        "mariadb",
        &[
            "mariadb-operator",
            "fossul-operator",
            "jhipster-online-operator",
        ],
    ),
    (
        "vault",
        &[
            "vault-config-operator",
            "external-secrets-operator",
            "cert-manager",
        ],
    ),
    (
        "elasticsearch",
        &["logging-operator", "prometheus-exporter-operator", "jaeger"],
    ),
    (
        "opentelemetry",
        &[
            "opentelemetry-operator",
            "openshift-integration-operator",
            "tempo-operator",
        ],
    ),
    (
        "open telemetry",
        &[
            "opentelemetry-operator",
            "openshift-integration-operator",
            "tempo-operator",
        ],
    ),
    ("loki", &["loki-operator", "loki-helm-operator"]),
    (
        "service mesh",
        &["sailoperator", "nsm-operator", "skupper-operator"],
    ),
    (
        "external secrets",
        &["external-secrets-operator", "cert-manager", "flux"],
    ),
    ("externalsecrets", &["external-secrets-operator"]),
    (
        "rabbitmq",
        &[
            "rabbitmq-cluster-operator",
            "rabbitmq-messaging-topology-operator",
            "rabbitmq-single-active-consumer-operator",
        ],
    ),
    (
        "rabbit mq",
        &[
            "rabbitmq-cluster-operator",
            "rabbitmq-messaging-topology-operator",
            "rabbitmq-single-active-consumer-operator",
        ],
    ),
    (
        "gitlab",
        &[
            "gitlab-operator-kubernetes",
            "gitlab-runner-operator",
            "gitwebhook-operator",
        ],
    ),
    (
        "spark",
        &[
            "spark-helm-operator",
            "annotationlab",
            "opendatahub-operator",
        ],
    ),
    ("airflow", &["airflow-helm-operator", "ack-mwaa-controller"]),
    (
        "quay",
        &["project-quay", "bpfd-operator", "docling-operator"],
    ),
    (
        "nfs",
        &[
            "nfs-provisioner-operator",
            "aws-efs-operator",
            "hedvig-operator",
        ],
    ),
    ("velero", &["oadp-operator"]),
    ("gitops", &["gitops-primer", "tf-controller", "flux"]),
    (
        "tekton",
        &[
            "shipwright-operator",
            "openshift-integration-operator",
            "jupyter-notebook-validator-operator",
        ],
    ),
    (
        "s3",
        &[
            "ack-s3-controller",
            "ack-s3files-controller",
            "ack-s3tables-controller",
        ],
    ),
    (
        "camel",
        &[
            "camel-k",
            "camel-karavan-operator",
            "camel-monitor-operator",
        ],
    ),
    (
        "zookeeper",
        &[
            "zookeeper-operator",
            "strimzi-kafka-operator",
            "kubedb-installer",
        ],
    ),
    (
        "node health check",
        &[
            "node-healthcheck-operator",
            "machine-deletion-remediation",
            "self-node-remediation",
        ],
    ),
    (
        "cassandra",
        &["cass-operator-community", "jaeger", "kubedb-installer"],
    ),
];

/// The same of the part of the catalog.
const SEARCHES_OF_PART: [(&str, &[&str]); 10] = [
    ("cert-manager", &["cert-manager", "etcd"]),
    ("certmanager", &["cert-manager"]),
    (
        "grafana dashboards",
        &["grafana-operator", "pelorus-operator"],
    ),
    (
        "grafna",
        &[
            "grafana-operator",
            "pelorus-operator",
            "special-resource-operator",
        ],
    ),
    ("prometheus", &["prometheus", "dotvirt-operator"]),
    ("node health check", &["node-healthcheck-operator"]),
    (
        "monitoring",
        &[
            "prometheus",
            "camel-monitor-operator",
            "streamshub-console-operator",
        ],
    ),
    ("backup", &["ack-backup-controller", "etcd"]),
    (
        "database",
        &["dbaas-operator", "ack-dms-controller", "etcd"],
    ),
    ("vpn", &["headscale-operator"]),
];

#[test]
fn what_people_look_for_comes_first() {
    let directory = corpus::community();
    let catalog = corpus::load(&directory, &[]).unwrap();
    for (text, expected) in corpus::whole_or_part(&directory, &SEARCHES[..], &SEARCHES_OF_PART) {
        let found = search(&catalog, text);
        let first: Vec<_> = found.into_iter().take(3).collect();
        assert_eq!(first, *expected, "{text}");
    }
}

/// The packages that match, in the order of a list.
fn search<'c>(catalog: &'c Catalog, text: &str) -> Vec<&'c str> {
    let filter = PackageFilter {
        search: Some(text.into()),
        ..PackageFilter::default()
    };
    let found = catalog.find_packages(&filter, &Work::unlimited()).unwrap();
    let ranked = found.matches().map(|(place, found)| {
        let name = catalog.package_at(place as usize).name();
        (found.rank(), name)
    });
    let mut ranked: Vec<_> = ranked.collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, name)| name).collect()
}
