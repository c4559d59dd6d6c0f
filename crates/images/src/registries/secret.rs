//! Secrets for registries. They implement neither `Debug` nor `Display`, so that no log shows one.

/// A password or an identity token.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum RegistrySecret {
    Password {
        user: String,
        password: String,
    },
    /// An identity token, which a token service exchanges for access tokens.
    IdentityToken(String),
}
