import { Heading, type PackageAddress } from "../address";

export default function PackagePage({ address }: { address: PackageAddress }) {
  return <Heading title={address.page} />;
}
