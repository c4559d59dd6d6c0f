import { Heading, type DiffAddress } from "../address";

export function DiffPage({ address }: { address: DiffAddress }) {
  return <Heading title={address.page} />;
}
