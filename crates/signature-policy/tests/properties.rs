//! Properties of policies for any text.

use proptest::prelude::*;
use signature_policy::{LookupConfig, Policy, PolicyReference};

proptest! {
    #[test]
    fn a_member_that_nobody_knows_makes_a_policy_unreadable(name in "[a-zA-Z]{1,12}") {
        prop_assume!(name != "default" && name != "transports");
        let policy = |more: &str| format!(r#"{{"default":[{{"type":"reject"}}]{more}}}"#);
        prop_assert!(Policy::parse(&policy("")).is_ok());
        let more = format!(r#","{name}":{{}}"#);
        prop_assert!(Policy::parse(&policy(&more)).is_err());
    }

    #[test]
    fn texts_of_any_form_are_parsed_or_refused(text in r#"[\[\]{}":,a-z0-9 *.\n-]{0,60}"#) {
        let _ = Policy::parse(&text);
        let _ = LookupConfig::parse([("a.yaml", text.as_str())]);
        let _ = PolicyReference::docker(&text);
    }

    #[test]
    fn each_scope_of_an_image_is_wider_than_the_one_before(
        host in "[a-z]{1,4}(\\.[a-z]{1,4}){1,3}(:[0-9]{2,4})?",
        path in "[a-z]{1,4}(/[a-z]{1,4}){0,3}",
    ) {
        let image = PolicyReference::docker(&format!("{host}/{path}:v1")).unwrap();
        let repository = format!("{host}/{path}");
        let name = host.split(':').next().unwrap();
        let mut before = usize::MAX;
        for scope in image.namespaces() {
            if let Some(domain) = scope.strip_prefix("*.") {
                let suffix = format!(".{domain}");
                prop_assert!(name.ends_with(&suffix));
            } else {
                prop_assert!(repository.starts_with(scope.as_str()));
                prop_assert!(scope.len() < before);
                before = scope.len();
            }
        }
        prop_assert_eq!(image.namespaces()[0].as_str(), repository.as_str());
    }
}
