//! Flags of `certificate`.

/// Flags of `certificate`.
#[derive(Debug, clap::Args)]
pub struct CertificateArgs {
    /// Service to issue the certificate for, such as `catalogql.olm`. The Secret has the name of
    /// the first Service. May be repeated
    #[arg(long = "for", value_name = "SERVICE.NAMESPACE", value_parser = parse_service, required = true)]
    pub services: Vec<ServiceName>,
}

/// Name and namespace of a Service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceName {
    /// Name of the Service.
    pub service: String,
    /// Namespace of the Service.
    pub namespace: String,
}

fn parse_service(text: &str) -> Result<ServiceName, String> {
    let is_label = |label: &str| {
        let is_part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        (1..=63).contains(&label.len())
            && label.bytes().all(is_part)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let parts = text
        .split_once('.')
        .filter(|(service, namespace)| is_label(service) && is_label(namespace));
    let (service, namespace) =
        parts.ok_or("write the name of a Service and its namespace, such as catalogql.olm")?;
    Ok(ServiceName {
        service: service.to_owned(),
        namespace: namespace.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_written_with_its_namespace() {
        let expected = ServiceName {
            service: "catalogql".to_owned(),
            namespace: "olm-v1".to_owned(),
        };
        assert_eq!(parse_service("catalogql.olm-v1"), Ok(expected));
        for text in [
            "catalogql",
            "catalogql.",
            ".olm",
            "catalogql.olm.svc",
            "Catalogql.olm",
            "catalogql.-olm",
            "a b.c",
        ] {
            assert!(parse_service(text).is_err(), "{text}");
        }
    }
}
