//! Flags of the gRPC registry API.

use serving::CatalogName;

use super::access::AuthMode;
use super::values::parse_listen;

/// Flags of the gRPC registry API.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "gRPC")]
pub struct GrpcArgs {
    /// Address to serve OLM v0's gRPC API on, such as `:50051`. It serves all catalogs, or one with
    /// `CATALOG=`. `/auth=none`, `/auth=delegated` and `/plaintext` override --grpc-auth and
    /// --grpc-plaintext for this address. May be repeated
    #[arg(long, value_name = "[CATALOG=]HOST:PORT[/OPTION…]", value_parser = parse_grpc)]
    pub grpc: Vec<GrpcAddress>,
    /// Authorization of gRPC calls. OLM v0 sends no credentials [default: the value of --auth]
    #[arg(long, value_name = "MODE", value_enum, requires = "grpc")]
    pub grpc_auth: Option<AuthMode>,
    /// Serve gRPC without TLS, as OLM v0 expects, even if the server has a certificate
    #[arg(long, requires = "grpc")]
    pub grpc_plaintext: bool,
}

/// A listen address of the gRPC API, with its options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrpcAddress {
    /// Catalog that calls on this address query; `None` if each call names its catalog.
    pub catalog: Option<String>,
    /// `HOST:PORT`.
    pub listen: String,
    /// Authorization mode of this address; `None` applies `--grpc-auth`.
    pub auth: Option<AuthMode>,
    /// Serve this address without TLS, whatever `--grpc-plaintext` says.
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
