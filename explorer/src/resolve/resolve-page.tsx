import { Heading, type ResolveAddress } from "../address";

export default function ResolvePage({ address }: { address: ResolveAddress }) {
  return <Heading title={address.page} />;
}
