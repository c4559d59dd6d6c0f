import { Heading, type ApiAddress } from "../address";

export default function ApiPage({ address }: { address: ApiAddress }) {
  return <Heading title={address.page} />;
}
