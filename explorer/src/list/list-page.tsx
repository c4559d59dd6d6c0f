import { Heading, type ListAddress } from "../address";

export function ListPage({ address }: { address: ListAddress }) {
  return <Heading title={address.page} />;
}
