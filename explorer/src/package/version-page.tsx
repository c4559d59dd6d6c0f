import { Heading, type VersionAddress } from "../address";

export default function VersionPage({ address }: { address: VersionAddress }) {
  return <Heading title={address.page} />;
}
