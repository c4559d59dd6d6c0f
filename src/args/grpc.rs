//! Flags of the gRPC registry API.

use serving::CatalogName;

use super::access::AuthMode;
use super::values::parse_listen;

/// Flags of the gRPC registry API.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "gRPC")]
pub struct GrpcArgs {
    /// Address to serve OLM v0's gRPC API on, such as `:50051`: of all catalogs, or with `CATALOG=`
    /// of one. With `/auth=none`, `/auth=delegated` or `/plaintext` behind it, the flags below are
    /// so for this address alone. May be repeated
    #[arg(long, value_name = "[CATALOG=]HOST:PORT[/OPTION…]", value_parser = parse_grpc)]
    pub grpc: Vec<GrpcAddress>,
    /// Who may see which catalogs over gRPC; OLM v0 sends no credentials [default: as --auth]
    #[arg(long, value_name = "WHO", value_enum, requires = "grpc")]
    pub grpc_auth: Option<AuthMode>,
    /// Serve gRPC without TLS, as OLM v0 expects it, whatever the other listeners do
    #[arg(long, requires = "grpc")]
    pub grpc_plaintext: bool,
}

/// An address to serve gRPC on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrpcAddress {
    /// The catalog that its calls are about; `None` where they say so.
    pub catalog: Option<String>,
    /// `HOST:PORT`.
    pub listen: String,
    /// Who may see which catalogs there; `None` for who may see them at all addresses.
    pub auth: Option<AuthMode>,
    /// Whether it is served without TLS, even where the others are not.
    pub is_plaintext: bool,
}

fn parse_grpc(text: &str) -> Result<GrpcAddress, String> {
    let mut parts = text.split('/');
    let address = parts.next().unwrap_or_default();
    let (catalog, listen) = match address.split_once('=') {
        Some((name, listen)) => (
            Some(
                CatalogName::new(name)
                    .map_err(|error| error.to_string())?
                    .to_string(),
            ),
            listen,
        ),
        None => (None, address),
    };
    let mut parsed = GrpcAddress {
        catalog,
        listen: parse_listen(listen)?,
        ..GrpcAddress::default()
    };
    for option in parts {
        match option {
            "auth=none" => parsed.auth = Some(AuthMode::None),
            "auth=delegated" => parsed.auth = Some(AuthMode::Delegated),
            "plaintext" => parsed.is_plaintext = true,
            _ => {
                return Err(format!(
                    "`{option}` is none of auth=none, auth=delegated and plaintext"
                ));
            }
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_grpc_is_of_one_catalog_or_of_all() {
        let address = |catalog: Option<&str>, listen: &str| GrpcAddress {
            catalog: catalog.map(ToOwned::to_owned),
            listen: listen.to_owned(),
            ..GrpcAddress::default()
        };
        assert_eq!(parse_grpc(":50051"), Ok(address(None, "[::]:50051")));
        let community = address(Some("community"), "127.0.0.1:50052");
        assert_eq!(parse_grpc("community=50052"), Ok(community.clone()));
        let is_open = GrpcAddress {
            auth: Some(AuthMode::None),
            is_plaintext: true,
            ..community
        };
        assert_eq!(
            parse_grpc("community=50052/auth=none/plaintext"),
            Ok(is_open)
        );
        for text in [
            "",
            "=50051",
            "A=50051",
            "community=",
            "community=a=1",
            "50051/",
            "50051/auth=x",
            "50051/tls",
        ] {
            assert!(parse_grpc(text).is_err(), "{text}");
        }
    }
}
