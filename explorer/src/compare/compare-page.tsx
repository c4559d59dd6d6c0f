import { Heading, type CompareAddress } from "../address";

export default function ComparePage({ address }: { address: CompareAddress }) {
  return <Heading title={address.page} />;
}
