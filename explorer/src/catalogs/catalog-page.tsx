import { Heading, type CatalogAddress } from "../address";

export function CatalogPage({ address }: { address: CatalogAddress }) {
  return <Heading title={address.page} />;
}
